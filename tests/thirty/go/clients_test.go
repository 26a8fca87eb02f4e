package thirty

// The application's clients; lines of it count for none.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const deadline = time.Minute

func client(t *testing.T, seeds []string, more ...kgo.Opt) *kgo.Client {
	t.Helper()
	options := append([]kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }),
		kgo.MetadataMinAge(10 * time.Millisecond),
	}, more...)
	made, err := kgo.NewClient(options...)
	must(t, err)
	t.Cleanup(made.Close)
	return made
}

func admin(t *testing.T, seeds []string) *kadm.Client { return kadm.NewClient(client(t, seeds)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, wanted, found any) {
	t.Helper()
	if fmt.Sprint(wanted) != fmt.Sprint(found) {
		t.Fatalf("found %v, not %v", found, wanted)
	}
}

func expectError(t *testing.T, wanted, found error) {
	t.Helper()
	if !errors.Is(found, wanted) {
		t.Fatalf("found %v, not %v", found, wanted)
	}
}

func soon() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	context.AfterFunc(ctx, cancel)
	return ctx
}

func send(producer *kgo.Client, topic, value string) error {
	record := &kgo.Record{Topic: topic, Key: []byte("42"), Value: []byte(value)}
	return producer.ProduceSync(soon(), record).FirstErr()
}

// take polls until that number of records has come.
func take(t *testing.T, consumer *kgo.Client, wanted int) []*kgo.Record {
	t.Helper()
	found := []*kgo.Record{}
	for ctx := soon(); len(found) < wanted; {
		fetches := consumer.PollFetches(ctx)
		must(t, fetches.Err())
		found = append(found, fetches.Records()...)
	}
	return found
}

func values(records []*kgo.Record) string {
	all := ""
	for _, each := range records {
		all += string(each.Value) + " "
	}
	return all
}

// stored is what committed transactions have written to a topic of one partition.
func stored(t *testing.T, seeds []string, topic string) string {
	t.Helper()
	offsets, err := admin(t, seeds).ListCommittedOffsets(soon(), topic)
	must(t, err)
	begin, err := admin(t, seeds).ListStartOffsets(soon(), topic)
	must(t, err)
	end, _ := offsets.Lookup(topic, 0)
	first, _ := begin.Lookup(topic, 0)
	reader := client(t, seeds, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(first.Offset)}}))
	found := []*kgo.Record{}
	for next := first.Offset; next < end.Offset; {
		fetches := reader.PollFetches(soon())
		must(t, fetches.Err())
		for _, each := range fetches.Records() {
			if next = each.Offset + 1; !each.Attrs.IsControl() {
				found = append(found, each)
			}
		}
	}
	return values(found)
}

func group(name, topic string) []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(name), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(),
	}
}
