package thirty

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

const topic = "orders"

func start(t *testing.T, options ...kfake.Opt) (*kfake.Cluster, []string) {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(1, topic), kfake.GroupMinSessionTimeout(100 * time.Millisecond)}, options...)...)
	must(t, err)
	t.Cleanup(cluster.Close)
	return cluster, cluster.ListenAddrs()
}

func TestARecordHasItsKeyHeadersAndTime(t *testing.T) {
	_, seeds := start(t)
	at := time.UnixMilli(1_000_000_000_000)
	record := &kgo.Record{Topic: topic, Key: []byte("42"), Value: []byte("paid"), Timestamp: at, Headers: []kgo.RecordHeader{{Key: "source", Value: []byte("shop")}}}
	must(t, client(t, seeds).ProduceSync(soon(), record).FirstErr())
	found := take(t, client(t, seeds, group("shop", topic)...), 1)[0]
	expect(t, "42 paid 1000000000000 shop", fmt.Sprintf("%s %s %d %s", found.Key, found.Value, found.Timestamp.UnixMilli(), found.Headers[0].Value))
}

func TestRecordsOfAKeyStayInOrder(t *testing.T) {
	_, seeds := start(t, kfake.SeedTopics(3, "three"))
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
	cluster, seeds := start(t, kfake.SeedTopics(2, "two"))
	for range 2 {
		go client(t, seeds, group("shop", "two")...).PollFetches(soon())
	}
	info, err := cluster.WaitGroupStable(soon(), "shop", 2)
	must(t, err)
	expect(t, 2, len(info.Members))
}

func TestAConsumerThatBeginsAtTheEndReadsWhatComes(t *testing.T) {
	cluster, seeds := start(t)
	producer := client(t, seeds)
	must(t, send(producer, topic, "before"))
	fetched := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1})
	consumer := client(t, seeds, append(group("shop", topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))...)
	must(t, fetched.Wait(soon(), 1))
	must(t, send(producer, topic, "after"))
	expect(t, "after ", values(take(t, consumer, 1)))
}

func transaction(t *testing.T, seeds []string, more ...kgo.Opt) *kgo.Client {
	t.Helper()
	producer := client(t, seeds, append([]kgo.Opt{kgo.TransactionalID("shop")}, more...)...)
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
	cluster, seeds := start(t)
	must(t, cluster.CreateTopic("two", 2, map[string]string{"retention.ms": "60000"}))
	configs, err := admin(t, seeds).DescribeTopicConfigs(soon(), "two")
	must(t, err)
	for _, each := range configs[0].Configs {
		if each.Key == "retention.ms" {
			expect(t, "60000", each.MaybeValue())
		}
	}
	expect(t, 2, len(cluster.PartitionInfos("two")))
}

func TestRecordsAreDeletedUpToAnOffset(t *testing.T) {
	cluster, seeds := start(t)
	producer := client(t, seeds)
	must(t, send(producer, topic, "first"))
	must(t, send(producer, topic, "second"))
	must(t, cluster.DeleteRecords(topic, 0, 1))
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
	_, seeds := start(t, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "1000"}))
	expectError(t, kerr.MessageTooLarge, send(client(t, seeds, kgo.ProducerBatchCompression(kgo.NoCompression())), topic, fmt.Sprintf("%4000d", 1)))
}

func TestACommitAfterThePlaceIsLostFails(t *testing.T) {
	cluster, seeds := start(t)
	must(t, send(client(t, seeds), topic, "paid"))
	consumer := client(t, seeds, group("shop", topic)...)
	take(t, consumer, 1)
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.IllegalGeneration})
	expectError(t, kerr.IllegalGeneration, consumer.CommitUncommittedOffsets(soon()))
}

func TestAMovedLeaderIsTriedAgain(t *testing.T) {
	cluster, seeds := start(t)
	fault := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition, Count: 2})
	must(t, send(client(t, seeds), topic, "paid"))
	expect(t, 2, fault.Hits())
	expect(t, "paid ", stored(t, seeds, topic))
}

func storedWithALostAcknowledgement(t *testing.T, more ...kgo.Opt) string {
	t.Helper()
	cluster, seeds := start(t)
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.RequestTimedOut})
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
	cluster, seeds := start(t)
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		return nil, nil, true
	})
	producer := client(t, seeds, kgo.RecordDeliveryTimeout(time.Second), kgo.ProduceRequestTimeout(100*time.Millisecond), kgo.RequestTimeoutOverhead(100*time.Millisecond), kgo.DisableIdempotentWrite())
	expectError(t, kgo.ErrRecordTimeout, send(producer, topic, "paid"))
}

func TestWhoMayNotWriteIsTold(t *testing.T) {
	cluster, seeds := start(t)
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.TopicAuthorizationFailed})
	expectError(t, kerr.TopicAuthorizationFailed, send(client(t, seeds), topic, "paid"))
}

func TestASilentMemberLosesItsPlace(t *testing.T) {
	cluster, seeds := start(t)
	silent := client(t, seeds, append(group("shop", topic), kgo.InstanceID("a"), kgo.SessionTimeout(time.Second), kgo.HeartbeatInterval(100*time.Millisecond))...)
	_, err := cluster.WaitGroupStable(soon(), "shop", 1)
	must(t, err)
	silent.Close() // a static member does not say that it leaves
	client(t, seeds, append(group("shop", topic), kgo.InstanceID("b"))...)
	_, err = cluster.WaitGroupInfo(soon(), "shop", func(info *kfake.GroupInfo) bool {
		return len(info.Members) == 1 && info.Members[0].InstanceID != nil && *info.Members[0].InstanceID == "b"
	})
	must(t, err)
}

func TestATransactionThatTakesTooLongIsAborted(t *testing.T) {
	_, seeds := start(t)
	producer := transaction(t, seeds, kgo.TransactionTimeout(500*time.Millisecond))
	time.Sleep(2 * time.Second)
	if producer.EndTransaction(soon(), kgo.TryCommit) == nil {
		t.Fatal("it committed")
	}
	expect(t, "", stored(t, seeds, topic))
}

func TestRecordsAreGoneAfterAWeek(t *testing.T) {
	cluster, seeds := start(t)
	must(t, cluster.CreateTopic("short", 1, map[string]string{"retention.ms": "1"}))
	must(t, send(client(t, seeds), "short", "paid"))
	time.Sleep(10 * time.Millisecond)
	cluster.ApplyRetention()
	expect(t, "", stored(t, seeds, "short"))
}

func TestACoordinatorThatMovedIsFoundAgain(t *testing.T) {
	cluster, seeds := start(t)
	must(t, send(client(t, seeds), topic, "paid"))
	consumer := client(t, seeds, group("shop", topic)...)
	take(t, consumer, 1)
	fault := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.NotCoordinator})
	must(t, consumer.CommitUncommittedOffsets(soon()))
	expect(t, 1, fault.Hits())
}

func TestAFullDiskIsTold(t *testing.T) {
	cluster, seeds := start(t)
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.KafkaStorageError, Count: -1})
	expectError(t, kerr.KafkaStorageError, send(client(t, seeds, kgo.RecordRetries(1)), topic, "paid"))
}

func TestABrokerComesBackWithItsData(t *testing.T) {
	folder := kfake.DataDir(t.TempDir())
	cluster, seeds := start(t, folder)
	must(t, send(client(t, seeds), topic, "paid"))
	cluster.Close()
	_, seeds = start(t, folder)
	expect(t, "paid ", stored(t, seeds, topic))
}

func TestAnOlderBrokerIsMetWithOlderRequests(t *testing.T) {
	cluster, seeds := start(t, kfake.MaxVersions(kversion.V2_4_0()))
	older := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Observe: true, When: func(request kmsg.Request) bool { return request.GetVersion() == 8 }})
	must(t, send(client(t, seeds), topic, "paid"))
	expect(t, 1, older.Hits())
}
