package oracle;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A producer and a consumer of the 0.10 API, which has no headers; payloads are described in clients_java.py. */
public final class Client {
    private static final int DEADLINE_MS = 25_000;

    private Client() {
    }

    /** Properties, then records; answers the offset of each. */
    public static byte[] produce(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Bytes.Out out = new Bytes.Out();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties(in), new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            int count = in.int32();
            for (int i = 0; i < count; i++) {
                sent.add(producer.send(record(in)));
            }
            producer.flush();
            for (Future<RecordMetadata> one : sent) {
                out.int64(one.get().offset());
            }
        }
        return out.toByteArray();
    }

    /** Properties, then topic, partition, start offset and count of each partition to read; answers the records. */
    public static byte[] consume(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Map<String, Object> properties = properties(in);
        Map<TopicPartition, Integer> wanted = new HashMap<>();
        Bytes.Out out = new Bytes.Out();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            Map<TopicPartition, Long> starts = new HashMap<>();
            int partitions = in.int32();
            for (int i = 0; i < partitions; i++) {
                TopicPartition partition = new TopicPartition(in.string(), in.int32());
                starts.put(partition, in.int64());
                wanted.put(partition, in.int32());
            }
            consumer.assign(new ArrayList<>(starts.keySet()));
            starts.forEach(consumer::seek);
            long end = System.currentTimeMillis() + DEADLINE_MS;
            while (wanted.values().stream().anyMatch(left -> left > 0)) {
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException("records missing after " + DEADLINE_MS + " ms: " + wanted);
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(100)) {
                    wanted.merge(new TopicPartition(record.topic(), record.partition()), -1, Integer::sum);
                    write(record, out);
                }
            }
        }
        return out.toByteArray();
    }

    private static void write(ConsumerRecord<byte[], byte[]> record, Bytes.Out out) throws IOException {
        out.string(record.topic()).int32(record.partition()).int64(record.offset());
        out.int64(record.timestamp()).string(record.timestampType().name);
        out.blob(record.key()).blob(record.value());
        out.int32(0);
    }

    private static ProducerRecord<byte[], byte[]> record(Bytes in) {
        String topic = in.string();
        int partition = in.int32();
        long timestamp = in.int64();
        ProducerRecord<byte[], byte[]> record =
            new ProducerRecord<>(topic, partition, timestamp < 0 ? null : timestamp, in.blob(), in.blob());
        if (in.int32() != 0) {
            throw new IllegalArgumentException("0.10 has no headers");
        }
        return record;
    }

    private static Map<String, Object> properties(Bytes in) {
        Map<String, Object> properties = new HashMap<>();
        int count = in.int32();
        for (int i = 0; i < count; i++) {
            properties.put(in.string(), in.string());
        }
        return properties;
    }
}
