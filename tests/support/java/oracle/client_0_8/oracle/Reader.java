package oracle;

import java.nio.ByteBuffer;
import java.util.Map;
import kafka.api.FetchRequest;
import kafka.api.FetchRequestBuilder;
import kafka.javaapi.FetchResponse;
import kafka.javaapi.consumer.SimpleConsumer;
import kafka.message.Message;
import kafka.message.MessageAndOffset;

/** The Scala consumer of 0.8 (SimpleConsumer, Fetch v0), one partition after the other. */
public final class Reader {
    private static final int TIMEOUT_MS = 10_000;
    private static final int BUFFER_BYTES = 1 << 16;

    private Reader() {
    }

    /** Properties, then topic, partition, start offset and count of each partition to read; answers the records. */
    public static byte[] consume(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Map<String, Object> properties = Client.properties(in);
        String[] address = ((String) properties.get("bootstrap.servers")).split(":");
        String clientId = (String) properties.get("client.id");
        int maxBytes = Integer.parseInt((String) properties.get("max.partition.fetch.bytes"));
        Bytes.Out out = new Bytes.Out();
        SimpleConsumer consumer =
            new SimpleConsumer(address[0], Integer.parseInt(address[1]), TIMEOUT_MS, BUFFER_BYTES, clientId);
        try {
            int partitions = in.int32();
            for (int i = 0; i < partitions; i++) {
                read(consumer, clientId, maxBytes, in.string(), in.int32(), in.int64(), in.int32(), out);
            }
        } finally {
            consumer.close();
        }
        return out.toByteArray();
    }

    private static void read(SimpleConsumer consumer, String clientId, int maxBytes, String topic, int partition,
            long offset, int count, Bytes.Out out) throws Exception {
        long next = offset;
        long end = System.currentTimeMillis() + Client.DEADLINE_MS;
        for (int left = count; left > 0;) {
            if (System.currentTimeMillis() > end) {
                throw new IllegalStateException(left + " records missing of " + topic + "-" + partition);
            }
            FetchRequest request = new FetchRequestBuilder().clientId(clientId).maxWait(50).minBytes(1)
                .addFetch(topic, partition, next, maxBytes).build();
            FetchResponse response = consumer.fetch(request);
            if (response.hasError()) {
                throw new IllegalStateException("error " + response.errorCode(topic, partition));
            }
            for (MessageAndOffset entry : response.messageSet(topic, partition)) {
                if (entry.offset() < next) {
                    continue; // a wrapper is sent whole, from its first message on
                }
                entry.message().ensureValid();
                write(topic, partition, entry, out);
                next = entry.nextOffset();
                left--;
            }
        }
    }

    private static void write(String topic, int partition, MessageAndOffset entry, Bytes.Out out) throws Exception {
        Message message = entry.message();
        ByteBuffer key = message.hasKey() ? message.key() : null;
        out.string(topic).int32(partition).int64(entry.offset()).int64(-1);
        out.blob(key).blob(message.isNull() ? null : message.payload()).int32(0);
    }
}
