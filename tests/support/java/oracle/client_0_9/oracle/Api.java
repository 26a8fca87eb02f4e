package oracle;

import java.io.IOException;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** 0.9: neither timestamps nor headers. */
final class Api {
    private Api() {
    }

    static ProducerRecord<byte[], byte[]> record(String topic, int partition, Long timestamp, byte[] key, byte[] value,
            Map.Entry<String, byte[]>[] headers) {
        if (timestamp != null || headers.length > 0) {
            throw new IllegalArgumentException("0.9 has neither timestamps nor headers");
        }
        return new ProducerRecord<>(topic, partition, key, value);
    }

    static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer) {
        return consumer.poll(100);
    }

    static void writeTimestamp(ConsumerRecord<byte[], byte[]> record, Bytes.Out out) throws IOException {
        out.int64(-1);
    }

    static void writeHeaders(ConsumerRecord<byte[], byte[]> record, Bytes.Out out) throws IOException {
        out.int32(0);
    }
}
