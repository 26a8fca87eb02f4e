package stepdown.junit;

import java.util.List;
import java.util.Map;

/**
 * A request that a broker got. `answer`: the names of its error codes, empty for success, null when none came. `isDeprecated`: Kafka 4
 * does not serve that version (KIP-896). `line` is for people.
 */
public record Request(
        long atMs, int broker, String api, int version, String clientId, boolean isDeprecated, List<String> answer, String line) {
    @SuppressWarnings("unchecked")
    static Request of(Map<String, Object> shown) {
        return new Request(
                (long) shown.get("at_ms"),
                Math.toIntExact((long) shown.get("broker")),
                (String) shown.get("api"),
                Math.toIntExact((long) shown.get("version")),
                (String) shown.get("client_id"),
                (boolean) shown.get("is_deprecated"),
                (List<String>) shown.get("answer"),
                (String) shown.get("line"));
    }
}
