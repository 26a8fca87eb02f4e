package oracle;

import org.apache.kafka.clients.producer.internals.ScriptedSender;

/** Kafka's own idempotent producer from its accumulator on, without a network and with a clock that a script moves. */
public final class Producing {
    private Producing() {
    }

    /** See `tests/support/idempotent_script.py` for what a script is and what it answers. */
    public static byte[] run(byte[] payload) throws Exception {
        return new ScriptedSender(new Bytes(payload)).run();
    }
}
