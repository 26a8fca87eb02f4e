package oracle;

import java.io.File;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.Collection;

/** Which request versions a release of kafka-clients has, read from its jars in a class loader of their own. */
public final class ApiRanges {
    private static final String PROTOCOL = "org.apache.kafka.common.protocol.";

    private ApiRanges() {
    }

    /**
     * string class path | string pattern of listeners -> lines of `key name first last`: what clients ask there, without
     * unstable versions.
     */
    public static byte[] ofJars(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        String[] paths = in.string().split(File.pathSeparator);
        String listeners = in.string();
        URL[] urls = new URL[paths.length];
        for (int i = 0; i < paths.length; i++) {
            urls[i] = new File(paths[i]).toURI().toURL();
        }
        try (URLClassLoader jars = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader())) {
            return read(jars, listeners).getBytes(StandardCharsets.UTF_8);
        }
    }

    private static String read(ClassLoader jars, String listeners) throws Exception {
        StringBuilder lines = new StringBuilder();
        for (Object api : jars.loadClass(PROTOCOL + "ApiKeys").getEnumConstants()) {
            short key = api.getClass().getField("id").getShort(api);
            int[] range = range(jars, api, key, listeners);
            if (range[0] <= range[1]) {
                lines.append(key).append(' ').append(name(api)).append(' ');
                lines.append(range[0]).append(' ').append(range[1]).append('\n');
            }
        }
        return lines.toString();
    }

    /** `Produce` since 2.8, `PRODUCE` or `Produce` before. */
    private static String name(Object api) throws Exception {
        return (String) api.getClass().getField("name").get(api);
    }

    private static int[] range(ClassLoader jars, Object api, short key, String listeners) throws Exception {
        Object type = messageType(api);
        if (type != null) {
            boolean isThere = isAt(type, listeners);
            return isThere ? new int[] {number(type, "lowestSupportedVersion"), highest(type)} : new int[] {0, -1};
        }
        try {
            return new int[] {number(api, "oldestVersion"), number(api, "latestVersion")};
        } catch (NoSuchMethodException before011) {
            Object schemas = Array.get(jars.loadClass(PROTOCOL + "Protocol").getField("REQUESTS").get(null), key);
            return new int[] {0, schemas == null ? -1 : Array.getLength(schemas) - 1};
        }
    }

    /** The generated `ApiMessageType`, which has listeners since 2.8; null before. */
    private static Object messageType(Object api) throws Exception {
        try {
            Object type = api.getClass().getField("messageType").get(api);
            type.getClass().getMethod("listeners");
            return type;
        } catch (NoSuchFieldException | NoSuchMethodException before28) {
            return null;
        }
    }

    private static boolean isAt(Object type, String listeners) throws Exception {
        Collection<?> of = (Collection<?>) type.getClass().getMethod("listeners").invoke(type);
        return of.stream().anyMatch(listener -> listener.toString().matches(listeners));
    }

    private static int highest(Object type) throws Exception {
        try {
            Method highest = type.getClass().getMethod("highestSupportedVersion", boolean.class);
            return (Short) highest.invoke(type, false);
        } catch (NoSuchMethodException before35) {
            return number(type, "highestSupportedVersion");
        }
    }

    private static int number(Object of, String method) throws Exception {
        return (Short) of.getClass().getMethod(method).invoke(of);
    }
}
