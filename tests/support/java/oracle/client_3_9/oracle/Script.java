package oracle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.RecordMetadata;

/** Several producers by name, driven step by step: how transactions come to lie across each other. */
public final class Script {
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
    private final List<Future<RecordMetadata>> sent = new ArrayList<>();

    private Script() {
    }

    /** Steps: action, name of the producer, argument of the action. All that was sent has to be acknowledged. */
    public static byte[] run(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Script script = new Script();
        try {
            while (in.hasMore()) {
                script.step(in.string(), in.string(), in);
            }
            for (Future<RecordMetadata> one : script.sent) {
                one.get();
            }
        } finally {
            script.producers.values().forEach(KafkaProducer::close);
        }
        return new byte[0];
    }

    private void step(String action, String name, Bytes in) {
        KafkaProducer<byte[], byte[]> producer = producers.get(name);
        switch (action) {
            case "open": open(name, in); break;
            case "send": sent.add(producer.send(Client.record(in))); break;
            case "flush": producer.flush(); break;
            case "begin": producer.beginTransaction(); break;
            case "commit": producer.commitTransaction(); break;
            case "abort": producer.abortTransaction(); break;
            case "close": producers.remove(name).close(); break;
            default: throw new IllegalArgumentException(action);
        }
    }

    private void open(String name, Bytes in) {
        Map<String, Object> properties = Client.properties(in);
        KafkaProducer<byte[], byte[]> producer = Client.producer(properties);
        producers.put(name, producer);
        if (properties.containsKey("transactional.id")) {
            producer.initTransactions();
        }
    }
}
