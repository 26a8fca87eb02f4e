package oracle;

import java.util.Map;
import org.apache.kafka.clients.producer.ProducerRecord;

/** 0.8: neither timestamps nor headers, and no consumer in the new client. */
final class Api {
    private Api() {
    }

    static ProducerRecord<byte[], byte[]> record(String topic, int partition, Long timestamp, byte[] key, byte[] value,
            Map.Entry<String, byte[]>[] headers) {
        if (timestamp != null || headers.length > 0) {
            throw new IllegalArgumentException("0.8 has neither timestamps nor headers");
        }
        return new ProducerRecord<>(topic, partition, key, value);
    }
}
