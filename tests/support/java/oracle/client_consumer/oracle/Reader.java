package oracle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer of 0.9 or later. */
public final class Reader {
    private Reader() {
    }

    /** Properties, then topic, partition, start offset and count of each partition to read; answers the records. */
    public static byte[] consume(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Map<String, Object> properties = Client.properties(in);
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
            long end = System.currentTimeMillis() + Client.DEADLINE_MS;
            while (wanted.values().stream().anyMatch(left -> left > 0)) {
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException("records missing after " + Client.DEADLINE_MS + " ms: " + wanted);
                }
                for (ConsumerRecord<byte[], byte[]> record : Api.poll(consumer)) {
                    wanted.merge(new TopicPartition(record.topic(), record.partition()), -1, Integer::sum);
                    out.string(record.topic()).int32(record.partition()).int64(record.offset());
                    Api.writeTimestamp(record, out);
                    out.blob(record.key()).blob(record.value());
                    Api.writeHeaders(record, out);
                }
            }
        }
        return out.toByteArray();
    }
}
