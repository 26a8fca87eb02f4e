package oracle;

import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Kafka's own reading and writing of the records of its metadata log. */
public final class MetadataRecords {
    private MetadataRecords() {
    }

    /** The value of a record -> the same record, written again | its text. */
    public static byte[] echo(byte[] payload) throws Exception {
        ApiMessageAndVersion record =
            MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(ByteBuffer.wrap(payload)), payload.length);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer written = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, cache));
        MetadataRecordSerde.INSTANCE.write(record, cache, new ByteBufferAccessor(written));
        Bytes.Out answer = new Bytes.Out();
        answer.blob(written.array());
        answer.raw(record.message().toString().getBytes(java.nio.charset.StandardCharsets.UTF_8));
        return answer.toByteArray();
    }
}
