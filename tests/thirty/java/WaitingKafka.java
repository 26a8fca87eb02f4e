import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.junit.jupiter.api.Test;

/** What a test can say of a Kafka whose settings it chooses, where it waits: times are a second and less, not those of production. */
abstract class WaitingKafka extends AnyKafka {
    @Test
    void whoMayNotWriteIsTold() throws Throwable {
        String topic = topic(1);
        var everyone = new AccessControlEntry("User:*", "*", AclOperation.WRITE, AclPermissionType.DENY);
        try (var admin = Clients.admin(bootstrap());
                var producer = Clients.producer(bootstrap())) {
            admin.createAcls(List.of(new AclBinding(new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL), everyone))).all().get();
            assertThrows(TopicAuthorizationException.class, () -> Clients.send(producer, topic, "paid"));
        }
    }

    @Test
    void aSilentMemberLosesItsPlace() throws Throwable {
        String topic = topic(1);
        try (var silent = Clients.consumer(bootstrap(), topic, "group.instance.id", "a", "session.timeout.ms", 1000, "heartbeat.interval.ms", 100)) {
            silent.subscribe(List.of(topic));
            Clients.awaitAssignment(silent);
        } // a static member does not say that it leaves
        try (var next = Clients.consumer(bootstrap(), topic, "group.instance.id", "b");
                var admin = Clients.admin(bootstrap())) {
            next.subscribe(List.of(topic));
            Clients.awaitAssignment(next);
            assertEquals(1, admin.describeConsumerGroups(List.of(topic)).all().get().get(topic).members().size());
        }
    }

    @Test
    void aTransactionThatTakesTooLongIsAborted() throws Throwable {
        String topic = topic(1);
        try (var producer = Clients.producer(bootstrap(), "transactional.id", topic, "transaction.timeout.ms", 500)) {
            producer.initTransactions();
            producer.beginTransaction();
            Clients.send(producer, topic, "paid");
            Thread.sleep(3000);
            assertThrows(KafkaException.class, producer::commitTransaction);
        }
        assertEquals(List.of(), Clients.stored(bootstrap(), topic));
    }

    @Test
    void recordsAreGoneAfterAWeek() throws Throwable {
        String topic = topic(1, Map.of("segment.ms", "100", "retention.ms", "100"));
        Clients.sendAll(bootstrap(), topic, "paid");
        long end = System.nanoTime() + Clients.DEADLINE_S * 1_000_000_000L;
        while (!Clients.stored(bootstrap(), topic).isEmpty() && System.nanoTime() < end) Thread.sleep(100);
        assertEquals(List.of(), Clients.stored(bootstrap(), topic));
    }
}
