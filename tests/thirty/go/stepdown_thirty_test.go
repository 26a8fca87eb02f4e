package thirty

import (
	"fmt"
	"stepdown"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const topic = "orders"

func start(t *testing.T) (*stepdown.Kafka, []string) {
	t.Helper()
	kafka := stepdown.Start(t, stepdown.Options{Topics: map[string]int{topic: 1}})
	return kafka, []string{kafka.Bootstrap}
}

func TestARecordHasItsKeyHeadersAndTime(t *testing.T) {
	_, seeds := start(t)
	at := time.UnixMilli(time.Now().UnixMilli() - 1000)
	record := &kgo.Record{Topic: topic, Key: []byte("42"), Value: []byte("paid"), Timestamp: at, Headers: []kgo.RecordHeader{{Key: "source", Value: []byte("shop")}}}
	must(t, client(t, seeds).ProduceSync(soon(), record).FirstErr())
	found := take(t, client(t, seeds, group("shop", topic)...), 1)[0]
	expect(t, fmt.Sprintf("42 paid %d shop", at.UnixMilli()), fmt.Sprintf("%s %s %d %s", found.Key, found.Value, found.Timestamp.UnixMilli(), found.Headers[0].Value))
}

func TestRecordsOfAKeyStayInOrder(t *testing.T) {
	kafka, seeds := start(t)
	kafka.CreateTopic("three", 3)
	producer := client(t, seeds)
	for _, value := range []string{"placed", "paid", "sent"} {
		must(t, send(producer, "three", value))
	}
	expect(t, "placed paid sent ", values(take(t, client(t, seeds, group("shop", "three")...), 3)))
}

func TestAConsumerGoesOnAfterItsCommit(t *testing.T) {
	_, seeds := start(t)
	producer := client(t, seeds)
	for _, value := range []string{"first", "second"} {
		must(t, send(producer, topic, value))
		consumer := client(t, seeds, group("shop", topic)...)
		expect(t, value+" ", values(take(t, consumer, 1)))
		must(t, consumer.CommitUncommittedOffsets(soon()))
		consumer.Close()
	}
}

func TestTwoMembersShareThePartitions(t *testing.T) {
	kafka, seeds := start(t)
	kafka.CreateTopic("two", 2)
	for range 2 {
		go client(t, seeds, group("shop", "two")...).PollFetches(soon())
	}
	kafka.AwaitConsumers("shop", 2)
}

func TestAConsumerThatBeginsAtTheEndReadsWhatComes(t *testing.T) {
	kafka, seeds := start(t)
	producer := client(t, seeds)
	must(t, send(producer, topic, "before"))
	consumer := client(t, seeds, append(group("shop", topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))...)
	kafka.AwaitConsumers("shop", 1)
	must(t, send(producer, topic, "after"))
	expect(t, "after ", values(take(t, consumer, 1)))
}

func transaction(t *testing.T, seeds []string) *kgo.Client {
	t.Helper()
	producer := client(t, seeds, kgo.TransactionalID("shop"))
	must(t, producer.BeginTransaction())
	must(t, send(producer, topic, "paid"))
	return producer
}

func TestATransactionIsSeenWhenItIsCommitted(t *testing.T) {
	_, seeds := start(t)
	producer := transaction(t, seeds)
	expect(t, "", stored(t, seeds, topic))
	must(t, producer.EndTransaction(soon(), kgo.TryCommit))
	expect(t, "paid ", stored(t, seeds, topic))
}

func TestATransactionThatIsAbortedIsNeverSeen(t *testing.T) {
	_, seeds := start(t)
	must(t, transaction(t, seeds).EndTransaction(soon(), kgo.TryAbort))
	expect(t, "", stored(t, seeds, topic))
}

func TestASecondInstanceFencesTheFirst(t *testing.T) {
	_, seeds := start(t)
	first := transaction(t, seeds)
	second := client(t, seeds, kgo.TransactionalID("shop"))
	_, _, err := second.ProducerID(soon())
	must(t, err)
	if first.EndTransaction(soon(), kgo.TryCommit) == nil {
		t.Fatal("it committed")
	}
	expect(t, "", stored(t, seeds, topic))
}

func TestATopicHasItsSettings(t *testing.T) {
	kafka, seeds := start(t)
	kafka.Ask("POST", "topics/create", stepdown.Fields{"topic": "two", "partitions": 2, "config": stepdown.Fields{"retention.ms": "60000"}})
	configs, err := admin(t, seeds).DescribeTopicConfigs(soon(), "two")
	must(t, err)
	for _, each := range configs[0].Configs {
		if each.Key == "retention.ms" {
			expect(t, "60000", each.MaybeValue())
		}
	}
	topics, err := admin(t, seeds).ListTopics(soon(), "two")
	must(t, err)
	expect(t, 2, len(topics["two"].Partitions))
}

func TestRecordsAreDeletedUpToAnOffset(t *testing.T) {
	_, seeds := start(t)
	producer := client(t, seeds)
	must(t, send(producer, topic, "first"))
	must(t, send(producer, topic, "second"))
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, 1, -1)
	_, err := admin(t, seeds).DeleteRecords(soon(), offsets)
	must(t, err)
	expect(t, "second ", stored(t, seeds, topic))
}

func TestATimeIsFound(t *testing.T) {
	_, seeds := start(t)
	producer := client(t, seeds)
	for _, at := range []int64{1_000, 2_000, 3_000} {
		must(t, producer.ProduceSync(soon(), &kgo.Record{Topic: topic, Value: []byte("paid"), Timestamp: time.UnixMilli(at)}).FirstErr())
	}
	offsets, err := admin(t, seeds).ListOffsetsAfterMilli(soon(), 1_500, topic)
	must(t, err)
	found, _ := offsets.Lookup(topic, 0)
	expect(t, 1, found.Offset)
}

func TestAnOperatorSetsAGroupBack(t *testing.T) {
	_, seeds := start(t)
	producer := client(t, seeds)
	must(t, send(producer, topic, "first"))
	must(t, send(producer, topic, "second"))
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, 1, -1)
	must(t, admin(t, seeds).CommitAllOffsets(soon(), "shop", offsets))
	expect(t, "second ", values(take(t, client(t, seeds, group("shop", topic)...), 1)))
}

func TestARecordThatIsTooLargeIsTold(t *testing.T) {
	kafka, seeds := start(t)
	kafka.Ask("POST", "topics/create", stepdown.Fields{"topic": "small", "config": stepdown.Fields{"max.message.bytes": "1000"}})
	expectError(t, kerr.MessageTooLarge, send(client(t, seeds, kgo.ProducerBatchCompression(kgo.NoCompression())), "small", fmt.Sprintf("%4000d", 1)))
}

func TestACommitAfterThePlaceIsLostFails(t *testing.T) {
	kafka, seeds := start(t)
	must(t, send(client(t, seeds), topic, "paid"))
	consumer := client(t, seeds, group("shop", topic)...)
	take(t, consumer, 1)
	kafka.Error("OffsetCommit", "ILLEGAL_GENERATION", nil)
	expectError(t, kerr.IllegalGeneration, consumer.CommitUncommittedOffsets(soon()))
}

func TestAMovedLeaderIsTriedAgain(t *testing.T) {
	kafka, seeds := start(t)
	fault := kafka.Error("Produce", "NOT_LEADER_OR_FOLLOWER", stepdown.Fields{"times": 2})
	must(t, send(client(t, seeds), topic, "paid"))
	expect(t, 2, fault.Hits())
	expect(t, "paid ", stored(t, seeds, topic))
}

func storedWithALostAcknowledgement(t *testing.T, more ...kgo.Opt) string {
	t.Helper()
	kafka, seeds := start(t)
	kafka.Drop("Produce", stepdown.Fields{"when": "after"})
	must(t, send(client(t, seeds, more...), topic, "paid"))
	return stored(t, seeds, topic)
}

func TestALostAcknowledgementIsADuplicate(t *testing.T) {
	expect(t, "paid paid ", storedWithALostAcknowledgement(t, kgo.DisableIdempotentWrite()))
}

func TestALostAcknowledgementIsNoneOfAnIdempotentProducer(t *testing.T) {
	expect(t, "paid ", storedWithALostAcknowledgement(t))
}

func TestABrokerThatNeverAnswersIsGivenUp(t *testing.T) {
	kafka, seeds := start(t)
	kafka.BlackHole("Produce", stepdown.Fields{"times": nil})
	producer := client(t, seeds, kgo.RecordDeliveryTimeout(time.Second), kgo.ProduceRequestTimeout(100*time.Millisecond), kgo.RequestTimeoutOverhead(100*time.Millisecond), kgo.DisableIdempotentWrite())
	expectError(t, kgo.ErrRecordTimeout, send(producer, topic, "paid"))
}

func TestAProducerThatIsThrottledGoesOn(t *testing.T) {
	kafka, seeds := start(t)
	fault := kafka.Throttle("Produce", "100ms", nil)
	producer := client(t, seeds)
	must(t, send(producer, topic, "placed"))
	must(t, send(producer, topic, "paid"))
	expect(t, 1, fault.Hits())
}

func TestWhoMayNotWriteIsTold(t *testing.T) {
	kafka, seeds := start(t)
	kafka.Error("Produce", "TOPIC_AUTHORIZATION_FAILED", stepdown.Fields{"topic": topic})
	expectError(t, kerr.TopicAuthorizationFailed, send(client(t, seeds), topic, "paid"))
}

func TestAWrongChecksumIsRefused(t *testing.T) {
	kafka, seeds := start(t)
	must(t, send(client(t, seeds), topic, "paid"))
	kafka.Corrupt("crc", stepdown.Fields{"topic": topic})
	if client(t, seeds, group("shop", topic)...).PollFetches(soon()).Err() == nil {
		t.Fatal("it was taken")
	}
}

func TestASilentMemberLosesItsPlace(t *testing.T) {
	kafka, seeds := start(t)
	silent := client(t, seeds, append(group("shop", topic), kgo.InstanceID("a"))...)
	kafka.AwaitConsumers("shop", 1)
	silent.Close() // a static member does not say that it leaves
	kafka.Advance("46s")
	client(t, seeds, append(group("shop", topic), kgo.InstanceID("b"))...)
	kafka.AwaitConsumers("shop", 1)
}

func TestATransactionThatTakesTooLongIsAborted(t *testing.T) {
	kafka, seeds := start(t)
	producer := transaction(t, seeds)
	kafka.Advance("2m")
	if producer.EndTransaction(soon(), kgo.TryCommit) == nil {
		t.Fatal("it committed")
	}
	expect(t, "", stored(t, seeds, topic))
}

func TestRecordsAreGoneAfterAWeek(t *testing.T) {
	kafka, seeds := start(t)
	kafka.Ask("POST", "topics/create", stepdown.Fields{"topic": "short", "config": stepdown.Fields{"segment.ms": "60000"}})
	must(t, send(client(t, seeds), "short", "paid"))
	kafka.Advance("8d")
	expect(t, "", stored(t, seeds, "short"))
}

func TestACoordinatorThatMovedIsFoundAgain(t *testing.T) {
	kafka, seeds := start(t)
	must(t, send(client(t, seeds), topic, "paid"))
	consumer := client(t, seeds, group("shop", topic)...)
	take(t, consumer, 1)
	fault := kafka.Error("OffsetCommit", "NOT_COORDINATOR", nil)
	must(t, consumer.CommitUncommittedOffsets(soon()))
	expect(t, 1, fault.Hits())
}

func TestAFullDiskIsTold(t *testing.T) {
	kafka, seeds := start(t)
	kafka.Disk("full", stepdown.Fields{"topic": topic})
	expectError(t, kerr.KafkaStorageError, send(client(t, seeds, kgo.RecordRetries(1)), topic, "paid"))
}

func TestABrokerComesBackWithItsData(t *testing.T) {
	kafka, seeds := start(t)
	must(t, send(client(t, seeds), topic, "paid"))
	kafka.Kill(1)
	kafka.StartAgain(1)
	expect(t, "paid ", stored(t, seeds, topic))
}

func TestNoRequestIsOneThatKafka4Refuses(t *testing.T) {
	kafka, seeds := start(t)
	must(t, send(client(t, seeds), topic, "paid"))
	for _, each := range kafka.Requests("") {
		expect(t, false, each.IsDeprecated)
	}
	expect(t, 1, len(kafka.Requests("Produce")))
}

func TestAnOlderBrokerIsMetWithOlderRequests(t *testing.T) {
	kafka, seeds := start(t)
	kafka.Versions("Produce", "0-8", nil)
	must(t, send(client(t, seeds), topic, "paid"))
	expect(t, 8, kafka.Requests("Produce")[0].Version)
}

func TestAnAcknowledgedRecordSurvivesItsLeader(t *testing.T) {
	three := stepdown.Start(t, stepdown.Options{Brokers: 3})
	seeds := strings.Split(three.Bootstrap, ",")
	three.Ask("POST", "topics/create", stepdown.Fields{"topic": topic, "replication_factor": 3, "config": stepdown.Fields{"min.insync.replicas": "2"}})
	must(t, send(client(t, seeds), topic, "paid"))
	three.Ask("POST", "brokers/kill", stepdown.Fields{"leader_of": topic})
	three.Advance("10s")
	expect(t, "paid ", stored(t, seeds, topic))
}
