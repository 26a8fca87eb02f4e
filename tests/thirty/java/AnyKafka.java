import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.junit.jupiter.api.Test;

/** What a test can say of any Kafka that it has the address of. Each test has a topic of its own: not every Kafka is as new. */
abstract class AnyKafka {
    private static int topics;

    abstract String bootstrap();

    String topic(int partitions) {
        return topic(partitions, Map.of());
    }

    String topic(int partitions, Map<String, String> config) {
        String name = "orders-" + getClass().getSimpleName() + "-" + ++topics;
        Clients.createTopic(bootstrap(), name, partitions, 1, config);
        return name;
    }

    @Test
    void aRecordHasItsKeyHeadersAndTime() throws Throwable {
        String topic = topic(1);
        long at = System.currentTimeMillis() - 1000;
        try (var producer = Clients.producer(bootstrap())) {
            var record = new ProducerRecord<>(topic, null, at, "42", "paid");
            record.headers().add("source", "shop".getBytes());
            producer.send(record).get();
        }
        try (var consumer = Clients.consumer(bootstrap(), topic)) {
            consumer.subscribe(List.of(topic));
            ConsumerRecord<String, String> found = Clients.take(consumer, 1).get(0);
            assertEquals("42 paid " + at, found.key() + " " + found.value() + " " + found.timestamp());
            assertEquals("shop", new String(found.headers().lastHeader("source").value()));
        }
    }

    @Test
    void recordsOfAKeyStayInOrder() throws Throwable {
        String topic = topic(3);
        Clients.sendAll(bootstrap(), topic, "placed", "paid", "sent");
        try (var consumer = Clients.consumer(bootstrap(), topic)) {
            consumer.subscribe(List.of(topic));
            assertEquals(List.of("placed", "paid", "sent"), Clients.values(consumer, 3));
        }
    }

    @Test
    void aConsumerGoesOnAfterItsCommit() throws Throwable {
        String topic = topic(1);
        Clients.sendAll(bootstrap(), topic, "first", "second");
        for (String expected : List.of("first", "second")) {
            try (var consumer = Clients.consumer(bootstrap(), topic, "max.poll.records", 1)) {
                consumer.subscribe(List.of(topic));
                assertEquals(List.of(expected), Clients.values(consumer, 1));
                consumer.commitSync();
            }
        }
    }

    @Test
    void twoMembersShareThePartitions() {
        String topic = topic(2);
        try (var one = Clients.consumer(bootstrap(), topic);
                var other = Clients.consumer(bootstrap(), topic)) {
            one.subscribe(List.of(topic));
            other.subscribe(List.of(topic));
            while (one.assignment().size() != 1 || other.assignment().size() != 1) {
                one.poll(Clients.SOON);
                other.poll(Clients.SOON);
            }
            Set<TopicPartition> all = new HashSet<>(one.assignment());
            all.addAll(other.assignment());
            assertEquals(2, all.size());
        }
    }

    @Test
    void aConsumerThatBeginsAtTheEndReadsWhatComes() throws Throwable {
        String topic = topic(1);
        Clients.sendAll(bootstrap(), topic, "before");
        try (var consumer = Clients.consumer(bootstrap(), topic, "auto.offset.reset", "latest")) {
            consumer.subscribe(List.of(topic));
            Clients.awaitAssignment(consumer);
            consumer.position(new TopicPartition(topic, 0));
            Clients.sendAll(bootstrap(), topic, "after");
            assertEquals(List.of("after"), Clients.values(consumer, 1));
        }
    }

    @Test
    void aTransactionIsSeenWhenItIsCommitted() throws Throwable {
        String topic = topic(1);
        try (var producer = Clients.producer(bootstrap(), "transactional.id", topic)) {
            producer.initTransactions();
            producer.beginTransaction();
            Clients.send(producer, topic, "paid");
            assertEquals(List.of(), Clients.stored(bootstrap(), topic));
            producer.commitTransaction();
        }
        assertEquals(List.of("paid"), Clients.stored(bootstrap(), topic));
    }

    @Test
    void aTransactionThatIsAbortedIsNeverSeen() throws Throwable {
        String topic = topic(1);
        try (var producer = Clients.producer(bootstrap(), "transactional.id", topic)) {
            producer.initTransactions();
            producer.beginTransaction();
            Clients.send(producer, topic, "paid");
            producer.abortTransaction();
        }
        assertEquals(List.of(), Clients.stored(bootstrap(), topic));
    }

    @Test
    void aSecondInstanceFencesTheFirst() throws Throwable {
        String topic = topic(1);
        try (var first = Clients.producer(bootstrap(), "transactional.id", topic);
                var second = Clients.producer(bootstrap(), "transactional.id", topic)) {
            first.initTransactions();
            first.beginTransaction();
            Clients.send(first, topic, "paid");
            second.initTransactions();
            assertThrows(ProducerFencedException.class, first::commitTransaction);
        }
        assertEquals(List.of(), Clients.stored(bootstrap(), topic));
    }

    @Test
    void aTopicHasItsSettings() throws Throwable {
        String topic = topic(2, Map.of("retention.ms", "60000"));
        try (var admin = Clients.admin(bootstrap())) {
            var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            var config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
            assertEquals("60000", config.get("retention.ms").value());
            assertEquals(2, admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
        }
    }

    @Test
    void recordsAreDeletedUpToAnOffset() throws Throwable {
        String topic = topic(1);
        Clients.sendAll(bootstrap(), topic, "first", "second");
        try (var admin = Clients.admin(bootstrap())) {
            admin.deleteRecords(Map.of(new TopicPartition(topic, 0), RecordsToDelete.beforeOffset(1))).all().get();
        }
        assertEquals(List.of("second"), Clients.stored(bootstrap(), topic));
    }

    @Test
    void aTimeIsFound() throws Throwable {
        String topic = topic(1);
        var partition = new TopicPartition(topic, 0);
        try (var producer = Clients.producer(bootstrap());
                var consumer = Clients.consumer(bootstrap(), topic)) {
            for (long at : new long[] {1_000, 2_000, 3_000}) producer.send(new ProducerRecord<>(topic, 0, at, "42", "paid")).get();
            assertEquals(1, consumer.offsetsForTimes(Map.of(partition, 1_500L)).get(partition).offset());
        }
    }

    @Test
    void anOperatorSetsAGroupBack() throws Throwable {
        String topic = topic(1);
        Clients.sendAll(bootstrap(), topic, "first", "second");
        try (var admin = Clients.admin(bootstrap())) {
            admin.alterConsumerGroupOffsets(topic, Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1))).all().get();
        }
        try (var consumer = Clients.consumer(bootstrap(), topic)) {
            consumer.subscribe(List.of(topic));
            assertEquals(List.of("second"), Clients.values(consumer, 1));
        }
    }

    @Test
    void aRecordThatIsTooLargeIsTold() {
        String topic = topic(1, Map.of("max.message.bytes", "1000"));
        try (var producer = Clients.producer(bootstrap())) {
            assertThrows(RecordTooLargeException.class, () -> Clients.send(producer, topic, "paid".repeat(1000)));
        }
    }

    @Test
    void aCommitAfterThePlaceIsLostFails() throws Throwable {
        String topic = topic(1);
        Clients.sendAll(bootstrap(), topic, "paid");
        try (var slow = Clients.consumer(bootstrap(), topic, "max.poll.interval.ms", 300);
                var next = Clients.consumer(bootstrap(), topic)) {
            slow.subscribe(List.of(topic));
            assertEquals(List.of("paid"), Clients.values(slow, 1));
            next.subscribe(List.of(topic));
            assertEquals(List.of("paid"), Clients.values(next, 1));
            assertThrows(CommitFailedException.class, () -> slow.commitSync(Duration.ofSeconds(Clients.DEADLINE_S)));
            assertTrue(next.assignment().contains(new TopicPartition(topic, 0)));
        }
    }
}
