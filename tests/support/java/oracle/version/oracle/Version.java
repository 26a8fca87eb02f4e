package oracle;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.AppInfoParser;

/** Tells which Kafka is on the class path. */
public final class Version {
    private Version() {
    }

    public static byte[] kafka(byte[] payload) {
        return AppInfoParser.getVersion().getBytes(StandardCharsets.UTF_8);
    }
}
