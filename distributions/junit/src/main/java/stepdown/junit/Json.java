package stepdown.junit;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as the control port speaks it: objects are maps, arrays lists, whole numbers Long, others Double. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Throws IllegalArgumentException for what is no JSON. */
    static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.skipSpace();
        if (json.at < text.length()) throw json.expected("the end");
        return value;
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            String separator = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(separator);
                writeString(entry.getKey().toString(), out);
                out.append(':');
                write(entry.getValue(), out);
                separator = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> values) {
            out.append('[');
            for (Iterator<?> each = values.iterator(); each.hasNext(); ) {
                write(each.next(), out);
                if (each.hasNext()) out.append(',');
            }
            out.append(']');
        } else {
            writeString(value.toString(), out);
        }
    }

    private static void writeString(String text, StringBuilder out) {
        out.append('"');
        for (char letter : text.toCharArray()) {
            if (letter == '"' || letter == '\\') out.append('\\').append(letter);
            else if (letter < ' ') out.append(String.format("\\u%04x", (int) letter));
            else out.append(letter);
        }
        out.append('"');
    }

    private Object value() {
        skipSpace();
        char first = at < text.length() ? text.charAt(at) : '\0';
        if (first == '{') return object();
        if (first == '[') return array();
        if (first == '"') return string();
        if (take("true")) return true;
        if (take("false")) return false;
        if (take("null")) return null;
        return number();
    }

    private Map<String, Object> object() {
        Map<String, Object> found = new LinkedHashMap<>();
        at++;
        skipSpace();
        if (take("}")) return found;
        do {
            skipSpace();
            if (at == text.length() || text.charAt(at) != '"') throw expected("a name");
            String name = string();
            skipSpace();
            if (!take(":")) throw expected("a colon");
            found.put(name, value());
            skipSpace();
        } while (take(","));
        if (!take("}")) throw expected("a comma or }");
        return found;
    }

    private List<Object> array() {
        List<Object> found = new ArrayList<>();
        at++;
        skipSpace();
        if (take("]")) return found;
        do {
            found.add(value());
            skipSpace();
        } while (take(","));
        if (!take("]")) throw expected("a comma or ]");
        return found;
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        for (at++; at < text.length(); at++) {
            char letter = text.charAt(at);
            if (letter == '"') {
                at++;
                return found.toString();
            }
            found.append(letter == '\\' ? escaped() : letter);
        }
        throw expected("the end of a string");
    }

    private char escaped() {
        at++;
        char letter = at < text.length() ? text.charAt(at) : '\0';
        switch (letter) {
            case 'b': return '\b';
            case 'f': return '\f';
            case 'n': return '\n';
            case 'r': return '\r';
            case 't': return '\t';
            case '"': case '\\': case '/': return letter;
            case 'u':
                if (at + 4 < text.length() && text.substring(at + 1, at + 5).matches("[0-9a-fA-F]{4}")) {
                    at += 4;
                    return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
                }
            default: throw expected("an escape sequence");
        }
    }

    private Object number() {
        int end = at;
        while (end < text.length() && "+-.eE0123456789".indexOf(text.charAt(end)) >= 0) end++;
        String digits = text.substring(at, end);
        if (!digits.matches("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?")) throw expected("a value");
        at = end;
        if (digits.matches("-?\\d{1,18}")) return Long.valueOf(digits);
        return Double.valueOf(digits);
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
    }

    private boolean take(String wanted) {
        boolean is = text.startsWith(wanted, at);
        if (is) at += wanted.length();
        return is;
    }

    private IllegalArgumentException expected(String what) {
        return new IllegalArgumentException("expected " + what + " at " + at + " of " + text);
    }
}
