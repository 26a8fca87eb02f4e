package oracle;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import kafka.log.UnifiedLog;
import kafka.server.BrokerTopicStats;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;

/**
 * Loads the log of a partition as a broker does that starts after a crash, and reads all that it then serves.
 *
 * Request: string folder | int64 log start offset, recovery point
 * Answer, for each record: int64 offset | bool there is a key | blob key | bool there is a value | blob value. A batch
 * that a consumer would refuse is passed by.
 */
public final class LoadLog {
    private static final int FETCH_BYTES = 1 << 20;

    private LoadLog() {
    }

    public static byte[] run(byte[] payload) throws Exception {
        Bytes request = new Bytes(payload);
        Path folder = Path.of(request.string());
        Scheduler never = (Scheduler) Proxy.newProxyInstance(LoadLog.class.getClassLoader(),
            new Class<?>[] {Scheduler.class}, (proxy, method, arguments) -> null);
        UnifiedLog log = UnifiedLog.apply(folder.toFile(), new LogConfig(new Properties()), request.int64(),
            request.int64(), never, new BrokerTopicStats(false), Time.SYSTEM, 900000,
            new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(1), false,
            scala.Option.empty(), true, new ConcurrentHashMap<>(), false, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        Bytes.Out answer = new Bytes.Out();
        long offset = log.logStartOffset();
        while (offset < log.logEndOffset()) {
            long following = offset;
            for (RecordBatch batch : log.read(offset, FETCH_BYTES, FetchIsolation.LOG_END, true).records.batches()) {
                following = Math.max(following, batch.nextOffset());
                answer.raw(recordsOf(batch, offset));
            }
            if (following == offset) {
                break;
            }
            offset = following;
        }
        log.closeHandlers();
        return answer.toByteArray();
    }

    private static byte[] recordsOf(RecordBatch batch, long first) throws IOException {
        Bytes.Out found = new Bytes.Out();
        try {
            batch.ensureValid();
            for (Record record : batch) {
                if (record.offset() >= first) {
                    found.int64(record.offset());
                    add(record.key(), found);
                    add(record.value(), found);
                }
            }
        } catch (RuntimeException damaged) {
            return new byte[0];
        }
        return found.toByteArray();
    }

    private static void add(ByteBuffer bytes, Bytes.Out found) throws IOException {
        found.bool(bytes != null).blob(bytes == null ? ByteBuffer.allocate(0) : bytes);
    }
}
