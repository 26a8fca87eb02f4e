package oracle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A producer, in what all generations of the Java client share; `Api` is the generation's own part. Payloads are
 * described in clients_java.py.
 */
public final class Client {
    static final int DEADLINE_MS = 25_000;

    private Client() {
    }

    /** Properties, then records; answers the offset of each. */
    public static byte[] produce(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Bytes.Out out = new Bytes.Out();
        KafkaProducer<byte[], byte[]> producer = producer(properties(in));
        try {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            int count = in.int32();
            for (int i = 0; i < count; i++) {
                sent.add(producer.send(record(in)));
            }
            for (Future<RecordMetadata> one : sent) {
                out.int64(one.get().offset());
            }
        } finally {
            producer.close();
        }
        return out.toByteArray();
    }

    static KafkaProducer<byte[], byte[]> producer(Map<String, Object> properties) {
        return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static ProducerRecord<byte[], byte[]> record(Bytes in) {
        String topic = in.string();
        int partition = in.int32();
        long timestamp = in.int64();
        byte[] key = in.blob();
        byte[] value = in.blob();
        Map.Entry<String, byte[]>[] headers = Pair.array(in.int32());
        for (int i = 0; i < headers.length; i++) {
            headers[i] = new Pair(in.string(), in.blob());
        }
        return Api.record(topic, partition, timestamp < 0 ? null : timestamp, key, value, headers);
    }

    static Map<String, Object> properties(Bytes in) {
        Map<String, Object> properties = new HashMap<>();
        int count = in.int32();
        for (int i = 0; i < count; i++) {
            properties.put(in.string(), in.string());
        }
        return properties;
    }

    /** A header before there were headers. */
    static final class Pair extends java.util.AbstractMap.SimpleEntry<String, byte[]> {
        Pair(String key, byte[] value) {
            super(key, value);
        }

        static Pair[] array(int length) {
            return new Pair[length];
        }
    }
}
