import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.List;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.testcontainers.kafka.KafkaContainer;

class TestcontainersThirtyTest extends WaitingKafka {
    private static final int PORT = freePort();
    private static final KafkaContainer KAFKA = new KafkaContainer("apache/kafka:4.0.0")
            .withEnv("KAFKA_AUTHORIZER_CLASS_NAME", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")
            .withEnv("KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND", "true")
            .withEnv("KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS", "0")
            .withEnv("KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS", "100")
            .withEnv("KAFKA_LOG_INITIAL_TASK_DELAY_MS", "100")
            .withEnv("KAFKA_LOG_RETENTION_CHECK_INTERVAL_MS", "100")
            .withEnv("KAFKA_TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS", "100");

    @BeforeAll
    static void start() {
        KAFKA.setPortBindings(List.of(PORT + ":9092")); // of any other port a restart makes another one
        KAFKA.start();
    }

    @AfterAll
    static void stop() {
        KAFKA.stop();
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException fault) {
            throw new AssertionError(fault);
        }
    }

    @Override
    String bootstrap() {
        return KAFKA.getBootstrapServers();
    }

    @Test
    void aBrokerThatNeverAnswersIsGivenUp() throws Throwable {
        String topic = topic(1);
        try (var producer = Clients.producer(bootstrap(), "request.timeout.ms", 100, "delivery.timeout.ms", 300, "linger.ms", 0)) {
            producer.partitionsFor(topic);
            KAFKA.getDockerClient().pauseContainerCmd(KAFKA.getContainerId()).exec();
            try {
                assertThrows(TimeoutException.class, () -> Clients.send(producer, topic, "paid"));
            } finally {
                KAFKA.getDockerClient().unpauseContainerCmd(KAFKA.getContainerId()).exec();
            }
        }
    }

    @Test
    void aBrokerComesBackWithItsData() throws Throwable {
        String topic = topic(1);
        Clients.sendAll(bootstrap(), topic, "paid");
        KAFKA.getDockerClient().restartContainerCmd(KAFKA.getContainerId()).exec();
        assertEquals(List.of("paid"), Clients.stored(bootstrap(), topic));
    }
}
