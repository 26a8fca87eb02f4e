package stepdown.junit;

import java.util.Map;

/** The brokers' time; clients have clocks of their own. */
public final class Clock {
    private final Control control;

    Clock(Control control) {
        this.control = control;
    }

    /** Milliseconds since 1970. */
    public long nowMs() {
        return (long) control.ask("GET", "clock", Map.of()).get("now_ms");
    }

    /** Moves on by `46s`, `2h` or `7d`; returns when what falls due on the way has happened. */
    public void advance(String by) {
        control.ask("POST", "clock/advance", Map.of("by", by));
    }

    /** It stands still. */
    public void pause() {
        control.ask("POST", "clock/pause", Map.of());
    }

    /** It runs on. */
    public void resume() {
        control.ask("POST", "clock/resume", Map.of());
    }
}
