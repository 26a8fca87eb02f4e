package stepdown.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

@StepdownTest(topics = {"orders:3", "bills"}, config = "auto.create.topics.enable=false")
class StepdownTestTest {
    private Kafka ofBeforeEach;

    @BeforeEach
    void takes(Kafka kafka) {
        ofBeforeEach = kafka;
    }

    static void send(String bootstrap, String topic, String value) throws ExecutionException, InterruptedException {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "retry.backoff.ms", 5);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, value)).get();
        }
    }

    @Test
    void aProducerGoesOnAfterAnError(Kafka kafka) throws Exception {
        Fault fault = kafka.faults().error("Produce", "NOT_LEADER_OR_FOLLOWER", Map.of("topic", "bills", "times", 2));
        send(kafka.bootstrap(), "bills", "paid");
        fault.await(2, "10s");
        assertEquals(2, fault.hits());
        assertEquals(3, kafka.requests("Produce").size());
        assertEquals(List.of("NOT_LEADER_OR_FOLLOWER"), kafka.requests("Produce").get(0).answer());
    }

    @Test
    void anErrorThatIsFinalIsTold(Kafka kafka) {
        Fault fault = kafka.faults().error("Produce", "MESSAGE_TOO_LARGE", Map.of("times", Faults.ALWAYS));
        var told = assertThrows(ExecutionException.class, () -> send(kafka.bootstrap(), "bills", "paid"));
        assertEquals(RecordTooLargeException.class, told.getCause().getClass());
        fault.remove();
    }

    @Test
    void whatIsMisspeltIsRefusedWithTheReason(Kafka kafka) {
        var refusal = assertThrows(IllegalArgumentException.class, () -> kafka.faults().hold("Prodce", Map.of()));
        assertTrue(refusal.getMessage().contains("the name of an API, such as Produce"), refusal.getMessage());
    }

    @RepeatedTest(2)
    void aTopicOfATestIsGoneInTheNext(Kafka kafka) {
        kafka.createTopic("of-this-test", 1, Map.of("cleanup.policy", "compact"));
        assertEquals(ofBeforeEach, kafka);
    }

    @Test
    void aMemberThatIsSilentLosesItsPlace(Kafka kafka) {
        Map<String, Object> settings = Map.of("bootstrap.servers", kafka.bootstrap(), "group.id", "shop");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("bills"));
            while (kafka.requests("Fetch").isEmpty()) consumer.poll(Duration.ofMillis(20));
            kafka.awaitConsumers("shop", 1);
            long before = kafka.clock().nowMs();
            kafka.clock().advance("46s");
            assertTrue(kafka.clock().nowMs() - before >= 46_000);
        }
        kafka.deleteGroup("shop");
    }

    @Test
    void aBrokerThatIsKilledComesBackOnItsPort(Kafka kafka) throws Exception {
        send(kafka.bootstrap(), "bills", "before");
        kafka.kill(1);
        kafka.start(1);
        send(kafka.bootstrap(), "bills", "after");
    }
}
