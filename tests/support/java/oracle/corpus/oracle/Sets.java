package oracle;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;

/** Record sets written and read by Kafka's own classes; payloads are described in kafka_sets.py. */
public final class Sets {
    private static final int CAPACITY = 1 << 16;

    private Sets() {
    }

    /** Builds one batch after the other. */
    public static byte[] build(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        while (in.hasMore()) {
            byte magic = in.int8();
            CompressionType codec = CompressionType.forId(in.int8());
            TimestampType timestampType = in.int8() == 0 ? TimestampType.CREATE_TIME : TimestampType.LOG_APPEND_TIME;
            long appendTime = in.int64();
            int count = in.int32();
            MemoryRecordsBuilder builder = null;
            for (int i = 0; i < count; i++) {
                long offset = in.int64();
                if (builder == null) {
                    builder = MemoryRecords.builder(ByteBuffer.allocate(CAPACITY), magic, Compression.of(codec).build(),
                        magic == 0 ? TimestampType.NO_TIMESTAMP_TYPE : timestampType, offset, appendTime);
                }
                long timestamp = in.int64();
                builder.appendWithOffset(offset, timestamp, in.blob(), in.blob());
            }
            ByteBuffer built = builder.build().buffer();
            byte[] copy = new byte[built.remaining()];
            built.get(copy);
            out.write(copy);
        }
        return out.toByteArray();
    }

    /** Reads whole batches as a consumer does, checksums checked; what is left over is ignored, as a consumer does. */
    public static byte[] read(byte[] payload) throws Exception {
        Bytes.Out out = new Bytes.Out();
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(payload)).batches()) {
            batch.ensureValid();
            Bytes.Out records = new Bytes.Out();
            int count = 0;
            for (Record record : batch) {
                write(record, records);
                count++;
            }
            out.int8(batch.magic()).int8(batch.compressionType().id).int8(batch.timestampType().id);
            out.int64(batch.lastOffset()).int64(batch.maxTimestamp()).int32(batch.sizeInBytes());
            out.int32(count).raw(records.toByteArray());
        }
        return out.toByteArray();
    }

    private static void write(Record record, Bytes.Out out) throws Exception {
        out.int64(record.offset()).int64(record.timestamp()).blob(record.key()).blob(record.value());
        out.int32(record.headers().length);
        for (Header header : record.headers()) {
            out.string(header.key()).blob(header.value());
        }
    }
}
