import org.junit.jupiter.api.BeforeEach;
import org.springframework.kafka.test.EmbeddedKafkaBroker;
import org.springframework.kafka.test.context.EmbeddedKafka;

@EmbeddedKafka(
        brokerProperties = {
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found=true",
            "group.initial.rebalance.delay.ms=0",
            "group.min.session.timeout.ms=100",
            "log.initial.task.delay.ms=100",
            "log.retention.check.interval.ms=100",
            "offsets.topic.num.partitions=1",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms=100",
            "transaction.state.log.num.partitions=1",
            "transaction.state.log.min.isr=1",
            "transaction.state.log.replication.factor=1"
        })
class EmbeddedKafkaThirtyTest extends WaitingKafka {
    private EmbeddedKafkaBroker kafka;

    @BeforeEach
    void take(EmbeddedKafkaBroker kafka) {
        this.kafka = kafka;
    }

    @Override
    String bootstrap() {
        return kafka.getBrokersAsString();
    }
}
