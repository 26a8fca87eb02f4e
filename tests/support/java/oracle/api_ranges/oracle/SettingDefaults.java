package oracle;

import java.io.File;
import java.lang.reflect.Field;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Which settings the brokers of a release have, and their defaults, read from its jars in a class loader of their own. */
public final class SettingDefaults {
    private static final String[] OF_BROKERS = {"org.apache.kafka.server.config.AbstractKafkaConfig", "kafka.server.KafkaConfig$"};
    private static final String[] OF_TOPICS = {"org.apache.kafka.storage.internals.log.LogConfig", "kafka.log.LogConfig$"};

    private SettingDefaults() {
    }

    /** string class path -> lines of `broker name=default` and `topic name=default`; nothing after `=` is no default. */
    public static byte[] ofJars(byte[] payload) throws Exception {
        ClassLoader own = Thread.currentThread().getContextClassLoader();
        try (URLClassLoader jars = jarsOf(new Bytes(payload).string())) {
            Thread.currentThread().setContextClassLoader(jars); // a default that is a class is looked for there
            String lines = lines("broker", definition(jars, "num.partitions", OF_BROKERS));
            lines += lines("topic", definition(jars, "max.message.bytes", OF_TOPICS));
            return lines.getBytes(StandardCharsets.UTF_8);
        } finally {
            Thread.currentThread().setContextClassLoader(own);
        }
    }

    /** A class loader that has these jars and Java's own classes, and no others. */
    static URLClassLoader jarsOf(String classPath) throws Exception {
        String[] paths = classPath.split(File.pathSeparator);
        URL[] urls = new URL[paths.length];
        for (int i = 0; i < paths.length; i++) {
            urls[i] = new File(paths[i]).toURI().toURL();
        }
        return new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
    }

    /** The ConfigDef with this setting that a static field has, or a field of a Scala object. */
    private static Object definition(ClassLoader jars, String setting, String[] classes) throws Exception {
        Class<?> kind = jars.loadClass("org.apache.kafka.common.config.ConfigDef");
        for (String name : classes) {
            Class<?> owner;
            try {
                owner = jars.loadClass(name);
            } catch (ClassNotFoundException inAnotherRelease) {
                continue;
            }
            Object module = name.endsWith("$") ? owner.getField("MODULE$").get(null) : null;
            for (Field field : owner.getDeclaredFields()) {
                if (kind.isAssignableFrom(field.getType())) {
                    field.setAccessible(true);
                    Object definition = field.get(module);
                    if (keys(definition).containsKey(setting)) {
                        return definition;
                    }
                }
            }
        }
        throw new ClassNotFoundException(String.join(", ", classes));
    }

    private static Map<?, ?> keys(Object definition) throws Exception {
        return (Map<?, ?>) definition.getClass().getMethod("configKeys").invoke(definition);
    }

    private static String lines(String of, Object definition) throws Exception {
        Object none = definition.getClass().getField("NO_DEFAULT_VALUE").get(null);
        StringBuilder lines = new StringBuilder();
        for (Map.Entry<?, ?> entry : new TreeMap<>(keys(definition)).entrySet()) {
            Object value = entry.getValue().getClass().getField("defaultValue").get(entry.getValue());
            String shown = value == none ? "" : text(value);
            lines.append(of).append(' ').append(entry.getKey()).append('=').append(shown).append('\n');
        }
        return lines.toString();
    }

    private static String text(Object value) {
        if (value instanceof List) {
            return ((List<?>) value).stream().map(String::valueOf).collect(Collectors.joining(","));
        }
        return value == null ? "" : value.toString();
    }
}
