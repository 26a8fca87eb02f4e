package oracle;

import java.io.IOException;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;

/** 0.11 to 1.1: headers, and poll as it was. */
final class Api {
    private Api() {
    }

    static ProducerRecord<byte[], byte[]> record(String topic, int partition, Long timestamp, byte[] key, byte[] value,
            Map.Entry<String, byte[]>[] headers) {
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, partition, timestamp, key, value);
        for (Map.Entry<String, byte[]> header : headers) {
            record.headers().add(header.getKey(), header.getValue());
        }
        return record;
    }

    static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer) {
        return consumer.poll(100);
    }

    static void writeTimestamp(ConsumerRecord<byte[], byte[]> record, Bytes.Out out) throws IOException {
        out.int64(record.timestamp());
    }

    static void writeHeaders(ConsumerRecord<byte[], byte[]> record, Bytes.Out out) throws IOException {
        Header[] headers = record.headers().toArray();
        out.int32(headers.length);
        for (Header header : headers) {
            out.string(header.key()).blob(header.value());
        }
    }
}
