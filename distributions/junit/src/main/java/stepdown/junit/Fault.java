package stepdown.junit;

import java.util.Map;

/** A fault that was armed. */
public final class Fault {
    private final Control control;
    private final long id;

    Fault(Control control, long id) {
        this.control = control;
        this.id = id;
    }

    /** How often it has fired. */
    public long hits() {
        return (long) control.ask("GET", "faults/" + id, Map.of()).get("hits");
    }

    /** Returns when it has fired once. */
    public void await() {
        await(1, "10s");
    }

    /** Returns when it has fired that number of times. Throws AssertionError when it has not after the timeout, such as `10s`. */
    public void await(long hits, String timeout) {
        Map<String, Object> found = control.ask("POST", "faults/" + id + "/wait", Map.of("hits", hits, "timeout", timeout));
        if ((long) found.get("hits") < hits) {
            throw new AssertionError(found.get("fault") + " has fired " + found.get("hits") + " times in " + timeout + ", not " + hits);
        }
    }

    /** Lets go what it holds now. */
    public void release() {
        control.ask("POST", "faults/" + id + "/release", Map.of());
    }

    /** It fires no more. */
    public void remove() {
        control.ask("DELETE", "faults/" + id, Map.of());
    }
}
