package org.apache.kafka.common.record;

import java.nio.ByteBuffer;
import org.apache.kafka.common.utils.Time;

/** Opens RecordsUtil.downConvert, which only its package sees. */
public final class DownConversion {
    private DownConversion() {
    }

    public static ConvertedRecords<MemoryRecords> run(byte[] records, byte magic, long firstOffset) {
        Iterable<MutableRecordBatch> batches = MemoryRecords.readableRecords(ByteBuffer.wrap(records)).batches();
        return RecordsUtil.downConvert(batches, magic, firstOffset, Time.SYSTEM);
    }
}
