import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import stepdown.junit.Fault;
import stepdown.junit.Faults;
import stepdown.junit.Kafka;
import stepdown.junit.StepdownTest;

@StepdownTest
class StepdownThirtyTest extends AnyKafka {
    private Kafka kafka;

    @BeforeEach
    void take(Kafka kafka) {
        this.kafka = kafka;
    }

    @Override
    String bootstrap() {
        return kafka.bootstrap();
    }

    @Test
    void aMovedLeaderIsTriedAgain() throws Throwable {
        String topic = topic(1);
        Fault fault = kafka.faults().error("Produce", "NOT_LEADER_OR_FOLLOWER", Map.of("times", 2));
        Clients.sendAll(bootstrap(), topic, "paid");
        assertEquals(2, fault.hits());
        assertEquals(List.of("paid"), Clients.stored(bootstrap(), topic));
    }

    private List<String> storedWithALostAcknowledgement(boolean idempotent) throws Throwable {
        String topic = topic(1);
        kafka.faults().drop("Produce", Map.of("when", "after"));
        try (var producer = Clients.producer(bootstrap(), "enable.idempotence", idempotent)) {
            Clients.send(producer, topic, "paid");
        }
        return Clients.stored(bootstrap(), topic);
    }

    @Test
    void aLostAcknowledgementIsADuplicate() throws Throwable {
        assertEquals(List.of("paid", "paid"), storedWithALostAcknowledgement(false));
    }

    @Test
    void aLostAcknowledgementIsNoneOfAnIdempotentProducer() throws Throwable {
        assertEquals(List.of("paid"), storedWithALostAcknowledgement(true));
    }

    @Test
    void aBrokerThatNeverAnswersIsGivenUp() {
        String topic = topic(1);
        kafka.faults().blackHole("Produce", Map.of("times", Faults.ALWAYS));
        try (var producer = Clients.producer(bootstrap(), "request.timeout.ms", 100, "delivery.timeout.ms", 300, "linger.ms", 0)) {
            assertThrows(TimeoutException.class, () -> Clients.send(producer, topic, "paid"));
        }
    }

    @Test
    void aProducerThatIsThrottledGoesOn() throws Throwable {
        String topic = topic(1);
        Fault fault = kafka.faults().throttle("Produce", "100ms", Map.of());
        Clients.sendAll(bootstrap(), topic, "placed", "paid");
        assertEquals(1, fault.hits());
    }

    @Test
    void whoMayNotWriteIsTold() {
        String topic = topic(1);
        kafka.faults().error("Produce", "TOPIC_AUTHORIZATION_FAILED", Map.of("topic", topic));
        try (var producer = Clients.producer(bootstrap())) {
            assertThrows(TopicAuthorizationException.class, () -> Clients.send(producer, topic, "paid"));
        }
    }

    @Test
    void aWrongChecksumIsRefused() throws Throwable {
        String topic = topic(1);
        Clients.sendAll(bootstrap(), topic, "paid");
        kafka.faults().corrupt("crc", Map.of("topic", topic));
        try (var consumer = Clients.consumer(bootstrap(), topic)) {
            consumer.subscribe(List.of(topic));
            assertThrows(KafkaException.class, () -> Clients.take(consumer, 1));
        }
    }

    @Test
    void aSilentMemberLosesItsPlace() throws Throwable {
        String topic = topic(1);
        kafka.faults().blackHole("Heartbeat", Map.of("times", Faults.ALWAYS, "optional", true));
        kafka.faults().blackHole("LeaveGroup", Map.of("times", Faults.ALWAYS, "optional", true));
        try (var silent = Clients.consumer(bootstrap(), topic);
                var next = Clients.consumer(bootstrap(), topic);
                var admin = Clients.admin(bootstrap())) {
            silent.subscribe(List.of(topic));
            Clients.awaitAssignment(silent);
            kafka.clock().advance("46s");
            next.subscribe(List.of(topic));
            Clients.awaitAssignment(next);
            assertEquals(1, admin.describeConsumerGroups(List.of(topic)).all().get().get(topic).members().size());
            kafka.ask("POST", "faults/reset", Map.of());
        }
    }

    @Test
    void aTransactionThatTakesTooLongIsAborted() throws Throwable {
        String topic = topic(1);
        try (var producer = Clients.producer(bootstrap(), "transactional.id", topic)) {
            producer.initTransactions();
            producer.beginTransaction();
            Clients.send(producer, topic, "paid");
            kafka.clock().advance("2m");
            assertThrows(KafkaException.class, producer::commitTransaction);
        }
        assertEquals(List.of(), Clients.stored(bootstrap(), topic));
    }

    @Test
    void recordsAreGoneAfterAWeek() throws Throwable {
        String topic = topic(1, Map.of("segment.ms", "60000"));
        Clients.sendAll(bootstrap(), topic, "paid");
        kafka.clock().advance("8d");
        assertEquals(List.of(), Clients.stored(bootstrap(), topic));
    }

    @Test
    void aCoordinatorThatMovedIsFoundAgain() throws Throwable {
        String topic = topic(1);
        Clients.sendAll(bootstrap(), topic, "paid");
        Fault fault = kafka.faults().error("OffsetCommit", "NOT_COORDINATOR");
        try (var consumer = Clients.consumer(bootstrap(), topic)) {
            consumer.subscribe(List.of(topic));
            Clients.take(consumer, 1);
            consumer.commitSync();
        }
        assertEquals(1, fault.hits());
    }

    @Test
    void aFullDiskIsTold() {
        String topic = topic(1);
        kafka.faults().disk("full", Map.of("topic", topic));
        try (var producer = Clients.producer(bootstrap(), "retries", 0, "enable.idempotence", false)) {
            assertThrows(KafkaStorageException.class, () -> Clients.send(producer, topic, "paid"));
        }
    }

    @Test
    void aBrokerComesBackWithItsData() throws Throwable {
        String topic = topic(1);
        Clients.sendAll(bootstrap(), topic, "paid");
        kafka.kill(1);
        kafka.start(1);
        assertEquals(List.of("paid"), Clients.stored(bootstrap(), topic));
    }

    @Test
    void noRequestIsOneThatKafka4Refuses() throws Throwable {
        String topic = topic(1);
        Clients.sendAll(bootstrap(), topic, "paid");
        assertTrue(kafka.requests().stream().noneMatch(each -> each.isDeprecated()));
        assertEquals(1, kafka.requests("Produce").size());
    }

    @Test
    void anOlderBrokerIsMetWithOlderRequests() throws Throwable {
        String topic = topic(1);
        kafka.faults().versions("Produce", "0-8", Map.of());
        Clients.sendAll(bootstrap(), topic, "paid");
        assertEquals(8, kafka.requests("Produce").get(0).version());
    }

    @Nested
    @StepdownTest(brokers = 3)
    class OfThree {
        @Test
        void anAcknowledgedRecordSurvivesItsLeader(Kafka three) throws Throwable {
            Clients.createTopic(three.bootstrap(), "orders", 1, 3, Map.of("min.insync.replicas", "2"));
            Clients.sendAll(three.bootstrap(), "orders", "paid");
            three.ask("POST", "brokers/kill", Map.of("leader_of", "orders"));
            three.clock().advance("10s");
            assertEquals(List.of("paid"), Clients.stored(three.bootstrap(), "orders"));
        }
    }
}
