package oracle;

import java.lang.reflect.Method;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a group, for every consumer from 0.9 to 4.x; payloads are described in group_members.py. */
public final class GroupClient {
    private static final int POLL_MS = 200;

    private GroupClient() {
    }

    /** Properties, topic, int32 records, int32 milliseconds: reads so many, commits just those, leaves; answers them. */
    public static byte[] read(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Map<String, Object> properties = new HashMap<>();
        int count = in.int32();
        for (int i = 0; i < count; i++) {
            properties.put(in.string(), in.string());
        }
        String topic = in.string();
        int wanted = in.int32();
        long end = System.currentTimeMillis() + in.int32();
        Bytes.Out out = new Bytes.Out();
        Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
        KafkaConsumer<byte[], byte[]> consumer =
            new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        try {
            consumer.subscribe(Collections.singletonList(topic));
            while (wanted > 0 && System.currentTimeMillis() < end) {
                for (ConsumerRecord<byte[], byte[]> record : poll(consumer)) {
                    if (wanted == 0) {
                        break;
                    }
                    wanted--;
                    out.int32(record.partition()).int64(record.offset());
                    read.put(new TopicPartition(topic, record.partition()), new OffsetAndMetadata(record.offset() + 1));
                }
            }
            consumer.commitSync(read);
        } finally {
            consumer.close();
        }
        return out.toByteArray();
    }

    /** poll(long) is gone since 4.0, poll(Duration) is there since 2.0. */
    @SuppressWarnings("unchecked")
    private static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        for (Method method : KafkaConsumer.class.getMethods()) {
            if (method.getName().equals("poll") && !method.getParameterTypes()[0].equals(long.class)) {
                Object wait = Class.forName("java.time.Duration").getMethod("ofMillis", long.class).invoke(null, POLL_MS);
                return (ConsumerRecords<byte[], byte[]>) method.invoke(consumer, wait);
            }
        }
        Method method = KafkaConsumer.class.getMethod("poll", long.class);
        return (ConsumerRecords<byte[], byte[]>) method.invoke(consumer, (long) POLL_MS);
    }
}
