package stepdown.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
    @Test
    void whatIsWrittenIsRead() {
        Object value = Map.of("a\n\"\\\u0001é", List.of(1L, -2.5, true, "", Map.of(), List.of()));
        assertEquals(value, Json.parse(Json.write(value)));
        assertEquals("null", Json.write(null));
    }

    @Test
    void everyEscapeSequenceIsRead() {
        assertEquals("\b\f\n\r\t\"\\/é", Json.parse(" \"\\b\\f\\n\\r\\t\\\"\\\\\\/\\u00e9\" "));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[1", "\"a", "{\"a\" 1}", "{a: 1}", "1 2", "01", "nul", "\"\\x\"", "\"\\u12\""})
    void whatIsNoJsonIsRefused(String text) {
        assertThrows(IllegalArgumentException.class, () -> Json.parse(text));
    }
}
