package stepdown.junit;

import java.util.HashMap;
import java.util.Map;

/**
 * What goes wrong on purpose: a method a kind. `scope` says to what it happens and how often: `topic`, `partition`, `client_id`, `group`,
 * `broker`, `versions` ("0-8"), `times` (1), `after` (that number passes first), `probability`, `optional` (the test does not
 * fail when it never fires), and other fields of the kind; `stepdown faults kinds` lists all.
 */
public final class Faults {
    /** `"times", ALWAYS`: until the fault is removed. */
    public static final Object ALWAYS = new Object();

    private final Control control;

    Faults(Control control) {
        this.control = control;
    }

    /** Any kind by its name. Throws IllegalArgumentException for a field or a value that there is not. */
    public Fault arm(String kind, Map<String, ?> fields) {
        Map<String, Object> all = new HashMap<>(fields);
        all.put("kind", kind);
        all.replaceAll((name, value) -> value == ALWAYS ? null : value);
        return new Fault(control, (long) control.ask("POST", "faults", all).get("id"));
    }

    private Fault arm(String kind, Map<String, ?> scope, Map<String, ?> fields) {
        Map<String, Object> all = new HashMap<>(scope);
        all.putAll(fields);
        return arm(kind, all);
    }

    /** Answers an error code: `error("Produce", "NOT_LEADER_OR_FOLLOWER")`. */
    public Fault error(String api, String code) {
        return error(api, code, Map.of());
    }

    /** With `"when", "after"`: though the request has had its effect. */
    public Fault error(String api, String code, Map<String, ?> scope) {
        return arm("error", scope, Map.of("api", api, "code", code));
    }

    /** Lets requests wait for so long, such as `200ms`; with `"when", "after"` their answers. */
    public Fault delay(String api, String delay, Map<String, ?> scope) {
        return arm("delay", scope, Map.of("api", api, "delay", delay));
    }

    /** Holds requests, or with `"when", "after"` their answers, until the fault is released or removed. */
    public Fault hold(String api, Map<String, ?> scope) {
        return arm("hold", scope, Map.of("api", api));
    }

    /** Closes the connection; with `"when", "after"` when the request has had its effect, with `bytes` within the answer. */
    public Fault drop(String api, Map<String, ?> scope) {
        return arm("drop", scope, Map.of("api", api));
    }

    /** Never answers. */
    public Fault blackHole(String api, Map<String, ?> scope) {
        return arm("black_hole", scope, Map.of("api", api));
    }

    /** Answers a throttle time, and is silent for so long. */
    public Fault throttle(String api, String delay, Map<String, ?> scope) {
        return arm("throttle", scope, Map.of("api", api, "delay", delay));
    }

    /** `what`: crc, truncated, correlation_id, length or garbage. */
    public Fault corrupt(String what, Map<String, ?> scope) {
        return arm("corrupt", scope, Map.of("what", what));
    }

    /** Fetches answer a high watermark or last stable offset that differs by the fields of these names. */
    public Fault watermark(Map<String, ?> scope) {
        return arm("watermark", scope);
    }

    /** What is produced is written twice. */
    public Fault duplicate(Map<String, ?> scope) {
        return arm("duplicate", scope);
    }

    /** What is produced is acknowledged and not written. */
    public Fault lose(Map<String, ?> scope) {
        return arm("lose", scope);
    }

    /** Serves these versions of an API only, such as `0-8`, as an older broker; `none`: the API is gone. */
    public Fault versions(String api, String only, Map<String, ?> scope) {
        return arm("versions", scope, Map.of("api", api, "only", only));
    }

    /** Metadata names this leader; -1: there is none. */
    public Fault metadata(int leader, Map<String, ?> scope) {
        return arm("metadata", scope, Map.of("leader", leader));
    }

    /** Metadata names the leaders of this moment, whatever becomes of them. */
    public Fault staleMetadata(Map<String, ?> scope) {
        return arm("stale_metadata", scope);
    }

    /** Writing fails: `what` is `error` or `full`. */
    public Fault disk(String what, Map<String, ?> scope) {
        return arm("disk", scope, Map.of("what", what));
    }

    /** A transaction ends, and a partition gets no marker: there it hangs. */
    public Fault loseMarker(Map<String, ?> scope) {
        return arm("lose_marker", scope);
    }

    /** Another instance of that transactional id begins: the one there was is fenced. */
    public void fenceProducer(String transactionalId) {
        control.ask("POST", "producers/fence", Map.of("transactional_id", transactionalId));
    }
}
