package oracle;

import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.metrics.QuotaViolationException;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.metrics.stats.Rate;
import org.apache.kafka.common.metrics.stats.TokenBucket;
import kafka.utils.QuotaUtils;

/** Kafka's measures of quotas. */
public final class Quotas {
    private Quotas() {
    }

    /** int32 samples, int32 window in s, int64 bound; then (int32 ms later, int64 value): answers int64 ms to wait for each. */
    public static byte[] rate(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        MetricConfig config = config(in);
        Bytes.Out out = new Bytes.Out();
        try (Metrics metrics = new Metrics()) {
            Sensor sensor = metrics.sensor("s");
            sensor.add(new MetricName("n", "g", "", new java.util.HashMap<>()), new Rate(), config);
            long now = 1_000_000;
            while (in.hasMore()) {
                now += in.int32();
                long value = in.int64();
                long wait = 0;
                try {
                    sensor.record(value, now, true);
                } catch (QuotaViolationException violation) {
                    wait = QuotaUtils.throttleTime(violation, now);
                }
                out.int64(wait);
            }
        }
        return out.toByteArray();
    }

    /** The same for tokens, which are taken whether they are there or not. */
    public static byte[] tokens(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        MetricConfig config = config(in);
        TokenBucket bucket = new TokenBucket();
        Bytes.Out out = new Bytes.Out();
        long now = 1_000_000_000_000L;
        while (in.hasMore()) {
            now += in.int32();
            bucket.record(config, in.int64(), now);
            double tokens = bucket.measure(config, now);
            out.int64(tokens < 0 ? Math.round(-tokens / config.quota().bound() * 1000) : 0);
        }
        return out.toByteArray();
    }

    private static MetricConfig config(Bytes in) {
        int samples = in.int32();
        int window = in.int32();
        return new MetricConfig().samples(samples).timeWindow(window, TimeUnit.SECONDS).quota(Quota.upperBound(in.int64()));
    }
}
