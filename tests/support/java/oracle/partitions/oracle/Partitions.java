package oracle;

import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/** Where the Java client's producer puts keys. */
public final class Partitions {
    private Partitions() {
    }

    /** Takes the count of partitions and keys; answers the partition of each. */
    public static byte[] ofKeys(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Bytes.Out out = new Bytes.Out();
        int partitions = in.int32();
        while (in.hasMore()) {
            out.int32(BuiltInPartitioner.partitionForKey(in.blob(), partitions));
        }
        return out.toByteArray();
    }
}
