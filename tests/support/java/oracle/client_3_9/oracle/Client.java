package oracle;

import java.io.IOException;
import java.time.Duration;
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
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A producer and a consumer of today's API; payloads are described in clients_java.py. */
public final class Client {
    private static final int DEADLINE_MS = 25_000;

    private Client() {
    }

    /** Properties, then records; answers the offset of each. */
    public static byte[] produce(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Bytes.Out out = new Bytes.Out();
        try (KafkaProducer<byte[], byte[]> producer = producer(properties(in))) {
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

    /** Steps of several named producers, in order: how transactions come to lie across each other. */
    public static byte[] script(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try {
            while (in.hasMore()) {
                step(in.string(), in.string(), in, producers, sent);
            }
            for (Future<RecordMetadata> one : sent) {
                one.get();
            }
        } finally {
            producers.values().forEach(KafkaProducer::close);
        }
        return new byte[0];
    }

    private static void step(String action, String name, Bytes in, Map<String, KafkaProducer<byte[], byte[]>> producers,
            List<Future<RecordMetadata>> sent) throws Exception {
        if (action.equals("open")) {
            Map<String, Object> properties = properties(in);
            KafkaProducer<byte[], byte[]> producer = producer(properties);
            producers.put(name, producer);
            if (properties.containsKey("transactional.id")) {
                producer.initTransactions();
            }
            return;
        }
        KafkaProducer<byte[], byte[]> producer = producers.get(name);
        switch (action) {
            case "send": sent.add(producer.send(record(in))); break;
            case "flush": producer.flush(); break;
            case "begin": producer.beginTransaction(); break;
            case "commit": producer.commitTransaction(); break;
            case "abort": producer.abortTransaction(); break;
            case "close": producers.remove(name).close(); break;
            default: throw new IllegalArgumentException(action);
        }
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
            consumer.assign(starts.keySet());
            starts.forEach(consumer::seek);
            long end = System.currentTimeMillis() + DEADLINE_MS;
            while (wanted.values().stream().anyMatch(left -> left > 0)) {
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException("records missing after " + DEADLINE_MS + " ms: " + wanted);
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
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
        Header[] headers = record.headers().toArray();
        out.int32(headers.length);
        for (Header header : headers) {
            out.string(header.key()).blob(header.value());
        }
    }

    private static KafkaProducer<byte[], byte[]> producer(Map<String, Object> properties) {
        return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static ProducerRecord<byte[], byte[]> record(Bytes in) {
        String topic = in.string();
        int partition = in.int32();
        long timestamp = in.int64();
        ProducerRecord<byte[], byte[]> record =
            new ProducerRecord<>(topic, partition, timestamp < 0 ? null : timestamp, in.blob(), in.blob());
        Headers headers = record.headers();
        int count = in.int32();
        for (int i = 0; i < count; i++) {
            headers.add(in.string(), in.blob());
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
