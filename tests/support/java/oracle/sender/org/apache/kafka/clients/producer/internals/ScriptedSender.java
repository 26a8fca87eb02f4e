package org.apache.kafka.clients.producer.internals;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import oracle.Bytes;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.clients.LeastLoadedNode;
import org.apache.kafka.clients.RequestCompletionHandler;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.message.InitProducerIdResponseData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.CompressionRatioEstimator;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.InitProducerIdRequest;
import org.apache.kafka.common.requests.InitProducerIdResponse;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/** Runs a script; each partition of the topic "t" is led by a node of its own. */
public final class ScriptedSender {
    private static final String TOPIC = "t";
    private static final int PASSES = 16;
    private static final int REQUEST_TIMEOUT_MS = 30_000;
    private static final String GROUP = "producer-metrics";

    private final Bytes in;
    private final Bytes.Out out = new Bytes.Out();
    private final Clock clock = new Clock();
    private final Client client = new Client();
    private final Metrics metrics = new Metrics(clock);
    private final ProducerMetadata metadata;
    private final RecordAccumulator accumulator;
    private final Sender sender;
    private final List<int[]> ends = new ArrayList<>();
    private final List<long[]> sends = new ArrayList<>();

    /** int32 partitions, batch.size, delivery.timeout.ms, requests in flight; then the steps. */
    public ScriptedSender(Bytes in) {
        this.in = in;
        int partitions = in.int32();
        int batchSize = in.int32();
        int deliveryTimeoutMs = in.int32();
        client.mostInFlight = in.int32();
        LogContext context = new LogContext();
        ApiVersions versions = new ApiVersions();
        metadata = new ProducerMetadata(0, 0, Long.MAX_VALUE / 2, Long.MAX_VALUE / 2, context, new ClusterResourceListeners(), clock);
        metadata.add(TOPIC, clock.milliseconds());
        metadata.updateWithCurrentRequestVersion(cluster(partitions), false, clock.milliseconds());
        TransactionManager transactions = new TransactionManager(context, null, 60_000, 0, versions);
        BufferPool pool = new BufferPool(1 << 25, batchSize, metrics, clock, GROUP);
        CompressionRatioEstimator.resetEstimation(TOPIC);
        accumulator = new RecordAccumulator(context, batchSize, Compression.gzip().build(), 0, 0, 0, deliveryTimeoutMs,
            metrics, GROUP, clock, versions, transactions, pool);
        sender = new Sender(context, client, metadata, accumulator, false, 1 << 20, (short) -1, Integer.MAX_VALUE,
            new SenderMetricsRegistry(metrics), clock, REQUEST_TIMEOUT_MS, 0, transactions, versions);
    }

    /** For each step: int32 sends, each int32 partition, int64 id, int32 epoch, sequence, records, first; int32 ends, each int32 record, code.
     *  Then the metrics: string name, int64 value in millionths. */
    public byte[] run() throws Exception {
        pass();
        while (in.hasMore()) {
            if (!step(in.int8())) {
                return out.toByteArray();
            }
            pass();
            tell();
        }
        for (Metric metric : metrics.metrics().values()) {
            if (metric.metricName().group().equals(GROUP) && metric.metricName().tags().isEmpty() && metric.metricValue() instanceof Double) {
                out.string(metric.metricName().name());
                double value = (Double) metric.metricValue();
                out.int64(Double.isNaN(value) ? Long.MIN_VALUE : Math.round(value * 1e6));
            }
        }
        return out.toByteArray();
    }

    /** False for an answer to a request that there is not: the script was written for another producer. */
    private boolean step(int kind) throws Exception {
        switch (kind) {
            case 0:
                append(in.int32(), in.blob());
                break;
            case 1:
                return client.answer(in.int32(), in.int32(), Errors.forCode(in.int16()), in.int64(), in.int64());
            case 2:
                return client.disconnect(in.int32(), in.int32());
            case 3:
                clock.nowMs += in.int32();
                break;
            case 4:
                CompressionRatioEstimator.setEstimation(TOPIC, CompressionType.GZIP, in.int32() / 1000f);
                break;
            default:
                throw new IllegalArgumentException("step " + kind);
        }
        return true;
    }

    /** Appends the records that a blob holds: each int32 size and its bytes, which begin with int32 number. */
    private void append(int partition, byte[] records) throws Exception {
        ByteBuffer left = ByteBuffer.wrap(records);
        while (left.hasRemaining()) {
            byte[] value = new byte[left.getInt()];
            left.get(value);
            int number = ByteBuffer.wrap(value).getInt();
            accumulator.append(TOPIC, partition, clock.milliseconds(), null, value, Record.EMPTY_HEADERS, new RecordAccumulator.AppendCallbacks() {
                @Override
                public void setPartition(int chosen) {
                }

                @Override
                public void onCompletion(RecordMetadata told, Exception error) {
                    ends.add(new int[] {number, error == null ? 0 : Errors.forException(error).code()});
                }
            }, 0, false, clock.milliseconds(), metadata.fetch());
        }
    }

    private void pass() {
        for (int i = 0; i < PASSES; i++) {
            sender.runOnce();
        }
    }

    private void tell() throws Exception {
        out.int32(sends.size());
        for (long[] sent : sends) {
            out.int32((int) sent[0]).int64(sent[1]).int32((int) sent[2]).int32((int) sent[3]).int32((int) sent[4]).int32((int) sent[5]);
        }
        out.int32(ends.size());
        for (int[] end : ends) {
            out.int32(end[0]).int32(end[1]);
        }
        sends.clear();
        ends.clear();
    }

    private static MetadataResponse cluster(int partitions) {
        MetadataResponseData data = new MetadataResponseData().setClusterId("c").setControllerId(0);
        MetadataResponseData.MetadataResponseTopic topic = new MetadataResponseData.MetadataResponseTopic().setName(TOPIC);
        for (int i = 0; i < partitions; i++) {
            data.brokers().add(new MetadataResponseData.MetadataResponseBroker().setNodeId(i).setHost("127.0.0.1").setPort(9092 + i));
            topic.partitions().add(new MetadataResponseData.MetadataResponsePartition()
                .setPartitionIndex(i).setLeaderId(i).setLeaderEpoch(0).setReplicaNodes(List.of(i)).setIsrNodes(List.of(i)));
        }
        data.topics().add(topic);
        return new MetadataResponse(data, (short) 12);
    }

    /** Requests stay open until the script answers them. */
    private final class Client implements KafkaClient {
        private final Map<Integer, List<Open>> open = new HashMap<>();
        private final List<Runnable> answered = new ArrayList<>();
        private int mostInFlight;
        private int correlation;

        private final class Open {
            private final ClientRequest request;
            private final AbstractRequest body;

            private Open(ClientRequest request, AbstractRequest body) {
                this.request = request;
                this.body = body;
            }

            private ClientResponse response(boolean disconnected, AbstractResponse answer) {
                return new ClientResponse(request.makeHeader(body.version()), request.callback(), request.destination(),
                    request.createdTimeMs(), clock.milliseconds(), disconnected, null, null, answer);
            }
        }

        private boolean answer(int partition, int index, Errors error, long offset, long logStart) {
            ProduceResponseData data = new ProduceResponseData();
            ProduceResponseData.TopicProduceResponse topic = new ProduceResponseData.TopicProduceResponse().setName(TOPIC);
            topic.partitionResponses().add(new ProduceResponseData.PartitionProduceResponse()
                .setIndex(partition).setErrorCode(error.code()).setBaseOffset(offset).setLogStartOffset(logStart));
            data.responses().add(topic);
            if (index >= inFlightRequestCount(String.valueOf(partition))) {
                return false;
            }
            answer(open.get(partition).get(index), false, new ProduceResponse(data));
            return true;
        }

        private boolean disconnect(int partition, int index) {
            if (index >= inFlightRequestCount(String.valueOf(partition))) {
                return false;
            }
            answer(open.get(partition).get(index), true, null);
            return true;
        }

        /** A request is in flight until the answer is read, in the next poll. */
        private void answer(Open sent, boolean disconnected, AbstractResponse answer) {
            answered.add(() -> {
                open.values().forEach(requests -> requests.remove(sent));
                sent.response(disconnected, answer).onComplete();
            });
        }

        @Override
        public void send(ClientRequest request, long now) {
            AbstractRequest body = request.requestBuilder().build();
            Open sent = new Open(request, body);
            if (body instanceof InitProducerIdRequest) {
                answer(sent, false, new InitProducerIdResponse(new InitProducerIdResponseData().setProducerId(1001).setProducerEpoch((short) 0)));
                return;
            }
            ProduceRequestData.PartitionProduceData part = ((ProduceRequest) body).data().topicData().iterator().next().partitionData().get(0);
            RecordBatch batch = ((MemoryRecords) part.records()).batches().iterator().next();
            int first = batch.iterator().next().value().duplicate().getInt();
            sends.add(new long[] {part.index(), batch.producerId(), batch.producerEpoch(), batch.baseSequence(), batch.countOrNull(), first});
            open.computeIfAbsent(part.index(), index -> new ArrayList<>()).add(sent);
        }

        @Override
        public List<ClientResponse> poll(long timeout, long now) {
            List<Runnable> read = new ArrayList<>(answered);
            answered.clear();
            read.forEach(Runnable::run);
            return List.of();
        }

        @Override
        public boolean ready(Node node, long now) {
            return open.getOrDefault(node.id(), List.of()).size() < mostInFlight;
        }

        @Override
        public boolean isReady(Node node, long now) {
            return ready(node, now);
        }

        @Override
        public long connectionDelay(Node node, long now) {
            return 0;
        }

        @Override
        public long pollDelayMs(Node node, long now) {
            return 0;
        }

        @Override
        public boolean connectionFailed(Node node) {
            return false;
        }

        @Override
        public AuthenticationException authenticationException(Node node) {
            return null;
        }

        @Override
        public void disconnect(String node) {
        }

        @Override
        public void close(String node) {
        }

        /** Another one than those that lead, so that it takes a request at any time. */
        @Override
        public LeastLoadedNode leastLoadedNode(long now) {
            return new LeastLoadedNode(new Node(99, "127.0.0.1", 9999), true);
        }

        @Override
        public int inFlightRequestCount() {
            return open.values().stream().mapToInt(List::size).sum();
        }

        @Override
        public boolean hasInFlightRequests() {
            return inFlightRequestCount() > 0;
        }

        @Override
        public int inFlightRequestCount(String node) {
            return open.getOrDefault(Integer.valueOf(node), List.of()).size();
        }

        @Override
        public boolean hasInFlightRequests(String node) {
            return inFlightRequestCount(node) > 0;
        }

        @Override
        public boolean hasReadyNodes(long now) {
            return true;
        }

        @Override
        public void wakeup() {
        }

        @Override
        public ClientRequest newClientRequest(String node, AbstractRequest.Builder<?> builder, long createdMs, boolean answered) {
            return newClientRequest(node, builder, createdMs, answered, REQUEST_TIMEOUT_MS, null);
        }

        @Override
        public ClientRequest newClientRequest(String node, AbstractRequest.Builder<?> builder, long createdMs, boolean answered,
                                              int timeoutMs, RequestCompletionHandler callback) {
            return new ClientRequest(node, builder, correlation++, "c", createdMs, answered, timeoutMs, callback);
        }

        @Override
        public void initiateClose() {
        }

        @Override
        public boolean active() {
            return true;
        }

        @Override
        public void close() {
        }
    }

    private static final class Clock implements Time {
        private long nowMs = 1_700_000_000_000L;

        @Override
        public long milliseconds() {
            return nowMs;
        }

        @Override
        public long nanoseconds() {
            return nowMs * 1_000_000;
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
