package oracle;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ConvertedRecords;
import org.apache.kafka.common.record.DownConversion;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/** Kafka's own record classes. A record: int64 offset, timestamp | blob key, value | int32 headers | (string, blob)... */
public final class Records {
    private Records() {
    }

    /**
     * MemoryRecordsBuilder. Request: int8 magic, codec, timestamp type | int64 append time, base offset, producer id |
     * int16 producer epoch | int32 base sequence, leader epoch | bool transactional | int64 delete horizon |
     * int32 count | records. Answer: the bytes.
     */
    public static byte[] build(byte[] payload) {
        Bytes request = new Bytes(payload);
        byte magic = request.int8();
        Compression codec = Compression.of(CompressionType.forId(request.int8())).build();
        TimestampType type = request.int8() == 0 ? TimestampType.CREATE_TIME : TimestampType.LOG_APPEND_TIME;
        long appendTime = request.int64();
        long baseOffset = request.int64();
        long producerId = request.int64();
        short producerEpoch = request.int16();
        int baseSequence = request.int32();
        int leaderEpoch = request.int32();
        boolean transactional = request.bool();
        long deleteHorizon = request.int64();
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(new ByteBufferOutputStream(1024), magic, codec, type,
            baseOffset, appendTime, producerId, producerEpoch, baseSequence, transactional, false, leaderEpoch,
            Integer.MAX_VALUE, deleteHorizon);
        for (int left = request.int32(); left > 0; left--) {
            builder.appendWithOffset(request.int64(), request.int64(), request.blob(), request.blob(), headers(request));
        }
        ByteBuffer built = builder.build().buffer();
        byte[] answer = new byte[built.remaining()];
        built.get(answer);
        return answer;
    }

    /** What a codec's stream opens to. Request: int8 codec, magic | the stream. */
    public static byte[] open(byte[] payload) throws IOException {
        Bytes request = new Bytes(payload);
        Compression codec = Compression.of(CompressionType.forId(request.int8())).build();
        byte magic = request.int8();
        ByteBuffer stream = ByteBuffer.wrap(request.rest());
        try (java.io.InputStream opened = codec.wrapForInput(stream, magic, BufferSupplier.create())) {
            return opened.readAllBytes();
        }
    }

    /** RecordsUtil. Request: int8 magic | int64 first offset | bytes. Answer: int64 records, temporary bytes | bytes. */
    public static byte[] downConvert(byte[] payload) throws IOException {
        Bytes request = new Bytes(payload);
        byte magic = request.int8();
        long firstOffset = request.int64();
        ConvertedRecords<MemoryRecords> converted = DownConversion.run(request.rest(), magic, firstOffset);
        ByteBuffer records = converted.records().buffer();
        byte[] bytes = new byte[records.remaining()];
        records.get(bytes);
        return new Bytes.Out().int64(converted.recordConversionStats().numRecordsConverted())
            .int64(converted.recordConversionStats().temporaryMemoryBytes()).raw(bytes).toByteArray();
    }

    /**
     * Reads and validates. Request: bytes. Answer per batch: int8 magic, codec, timestamp type |
     * int64 base offset, last offset, max timestamp | int32 count | records.
     */
    public static byte[] read(byte[] payload) throws IOException {
        Bytes.Out answer = new Bytes.Out();
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(payload)).batches()) {
            batch.ensureValid();
            answer.int8(batch.magic()).int8(batch.compressionType().id).int8(batch.timestampType().id)
                .int64(batch.baseOffset()).int64(batch.lastOffset()).int64(batch.maxTimestamp());
            int count = 0;
            Bytes.Out records = new Bytes.Out();
            for (Record record : batch) {
                record.ensureValid();
                count++;
                records.int64(record.offset()).int64(record.timestamp()).blob(record.key()).blob(record.value())
                    .int32(record.headers().length);
                for (Header header : record.headers()) {
                    records.string(header.key()).blob(header.value());
                }
            }
            answer.int32(count).raw(records.toByteArray());
        }
        return answer.toByteArray();
    }

    private static Header[] headers(Bytes request) {
        Header[] headers = new Header[request.int32()];
        for (int i = 0; i < headers.length; i++) {
            headers[i] = new RecordHeader(request.string(), request.blob());
        }
        return headers;
    }
}
