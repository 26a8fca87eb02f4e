package oracle;

import java.lang.reflect.InvocationTargetException;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Which settings of topics keep the brokers of a release from starting: they open no log with one. */
public final class TopicSettings {
    private static final String LOG_CONFIG = "org.apache.kafka.storage.internals.log.LogConfig";

    private TopicSettings() {
    }

    /** string class path | blob of lines `name=value` -> a line for each: what `LogConfig` says of it alone, or nothing. */
    public static byte[] refusals(byte[] payload) throws Exception {
        Bytes bytes = new Bytes(payload);
        StringBuilder said = new StringBuilder();
        try (URLClassLoader jars = SettingDefaults.jarsOf(bytes.string())) {
            Class<?> kind = jars.loadClass(LOG_CONFIG);
            for (String line : new String(bytes.blob(), StandardCharsets.UTF_8).split("\n")) {
                int end = line.indexOf('=');
                try {
                    kind.getConstructor(Map.class).newInstance(Map.of(line.substring(0, end), line.substring(end + 1)));
                } catch (InvocationTargetException fault) {
                    said.append(String.valueOf(fault.getCause()).replace('\n', ' '));
                }
                said.append('\n');
            }
        }
        return said.toString().getBytes(StandardCharsets.UTF_8);
    }
}
