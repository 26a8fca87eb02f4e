package oracle;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import kafka.log.Cleaner;
import kafka.log.LogToClean;
import kafka.log.UnifiedLog;
import kafka.server.BrokerTopicStats;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.utils.Throttler;

/**
 * Cleans one log with Kafka's own cleaner.
 *
 * Request: string folder of a log that was closed cleanly | int64 now, first dirty offset, first uncleanable offset |
 *   int32 bytes of the offset map, int32 bytes of a buffer | int16 topic configs | (string key, string value)...
 * Answer: int64 first offset that is not clean | int32 files | (string name, blob content)... of .log and .txnindex.
 */
public final class CleanLog {
    private CleanLog() {
    }

    public static byte[] run(byte[] payload) throws Exception {
        Bytes request = new Bytes(payload);
        Path folder = Path.of(request.string());
        StoppedTime time = new StoppedTime(request.int64());
        long firstDirty = request.int64();
        long firstUncleanable = request.int64();
        SkimpyOffsetMap map = new SkimpyOffsetMap(request.int32());
        int bufferBytes = request.int32();
        Properties properties = new Properties();
        for (int left = request.int16(); left > 0; left--) {
            properties.put(request.string(), request.string());
        }
        UnifiedLog log = UnifiedLog.apply(folder.toFile(), new LogConfig(properties), 0, 0, new NoScheduler(),
            new BrokerTopicStats(false), time, 900000, new ProducerStateManagerConfig(86400000, false), 600000,
            new LogDirFailureChannel(1), true, scala.Option.empty(), true, new ConcurrentHashMap<>(), false,
            LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        log.updateHighWatermark(log.logEndOffset());
        Throttler throttler = new Throttler(Double.MAX_VALUE, 300, "test", "bytes", time);
        Cleaner cleaner = new Cleaner(0, map, bufferBytes, 1 << 24, 0.9, throttler, time,
            partition -> scala.runtime.BoxedUnit.UNIT);
        TopicPartition partition = log.topicPartition();
        long end = (long) cleaner.clean(new LogToClean(partition, log, firstDirty, firstUncleanable, false))._1();
        log.closeHandlers();
        return answer(folder, end);
    }

    private static byte[] answer(Path folder, long end) throws Exception {
        List<Path> files;
        try (Stream<Path> all = Files.list(folder)) {
            files = all.filter(file -> file.toString().endsWith(".log") || file.toString().endsWith(".txnindex"))
                .sorted().collect(Collectors.toList());
        }
        Bytes.Out answer = new Bytes.Out();
        answer.int64(end).int32(files.size());
        for (Path file : files) {
            answer.string(file.getFileName().toString()).blob(Files.readAllBytes(file));
        }
        return answer.toByteArray();
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

    private static final class StoppedTime implements Time {
        private final long now;

        StoppedTime(long now) {
            this.now = now;
        }

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
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }
}
