package oracle;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;
import java.util.stream.Stream;
import kafka.log.UnifiedLog;
import kafka.server.BrokerTopicStats;
import kafka.server.RequestLocal;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse.RecordError;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.VerificationGuard;

/**
 * Appends record sets to one real log of Kafka and tells what became of each, then the bytes of the log.
 *
 * Request: int16 topic configs | (string key, string value)... | int32 appends |
 *   (int64 now, int16 produce version or -1, int8 origin, int32 leader epoch, blob records)...
 * Answer per append: int8 0 | int64 first offset, last offset, log append time, max timestamp |
 *   int32 converted records, temporary bytes, valid bytes; or int8 1 | int16 code | string class | string message |
 *   int32 record errors | (int32 index, string text)...; after the last: blob of the segment file.
 */
public final class AppendLog {
    private AppendLog() {
    }

    public static byte[] run(byte[] payload) throws Exception {
        Bytes request = new Bytes(payload);
        Properties properties = new Properties();
        for (int left = request.int16(); left > 0; left--) {
            properties.put(request.string(), request.string());
        }
        Path parent = Files.createTempDirectory("append-log");
        try {
            return append(request, new LogConfig(properties), parent.resolve("topic-0"));
        } finally {
            delete(parent);
        }
    }

    private static byte[] append(Bytes request, LogConfig config, Path folder) throws Exception {
        ManualTime time = new ManualTime();
        UnifiedLog log = UnifiedLog.apply(folder.toFile(), config, 0, 0, new NoScheduler(), new BrokerTopicStats(false), time,
            900000, new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(1), true,
            scala.Option.empty(), true, new ConcurrentHashMap<>(), false, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        Bytes.Out answer = new Bytes.Out();
        for (int left = request.int32(); left > 0; left--) {
            time.now = request.int64();
            one(log, request, answer);
        }
        answer.blob(Files.readAllBytes(folder.resolve("00000000000000000000.log")));
        log.closeHandlers();
        return answer.toByteArray();
    }

    private static void one(UnifiedLog log, Bytes request, Bytes.Out answer) throws IOException {
        short version = request.int16();
        AppendOrigin origin = AppendOrigin.values()[request.int8()];
        int leaderEpoch = request.int32();
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(request.blob()));
        try {
            if (version >= 0) {
                ProduceRequest.validateRecords(version, records);
            }
            success(log.appendAsLeader(records, leaderEpoch, origin, MetadataVersion.latestProduction(),
                RequestLocal.NoCaching(), VerificationGuard.SENTINEL), answer);
        } catch (RecordValidationException refused) {
            failure(refused.invalidException(), answer).int32(refused.recordErrors().size());
            for (RecordError error : refused.recordErrors()) {
                answer.int32(error.batchIndex).string(error.message);
            }
        } catch (Exception refused) {
            failure(refused, answer).int32(0);
        }
    }

    private static void success(LogAppendInfo info, Bytes.Out answer) throws IOException {
        answer.int8(0).int64(info.firstOffset()).int64(info.lastOffset()).int64(info.logAppendTime())
            .int64(info.maxTimestamp())
            .int32(info.recordValidationStats().numRecordsConverted())
            .int32((int) info.recordValidationStats().temporaryMemoryBytes()).int32(info.validBytes());
    }

    private static Bytes.Out failure(Exception refused, Bytes.Out answer) throws IOException {
        String text = String.valueOf(refused.getMessage());
        return answer.int8(1).int16(Errors.forException(refused).code()).string(refused.getClass().getSimpleName())
            .string(text.length() > 2000 ? text.substring(0, 2000) : text);
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> paths = Files.walk(folder)) {
            paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
    }

    private static final class NoScheduler implements Scheduler {
        @Override
        public void startup() {
        }

        @Override
        public void shutdown() {
        }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            return null;
        }

        @Override
        public void resizeThreadPool(int newSize) {
        }
    }

    private static final class ManualTime implements Time {
        private long now;

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1000000;
        }

        @Override
        public long hiResClockMs() {
            return now;
        }

        @Override
        public void sleep(long ms) {
            now += ms;
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }
}
