// Writes a record and reads it back by Sarama or franz-go, through a listener that asks who comes.
//
// Arguments: sarama or franz-go, address, topic, security protocol, SASL mechanism or "", user, password,
// file of the authority. It ends with 1 and says why when the record does not come back. Or produce-by-sarama, and what
// sarama_producer.go takes. SARAMA_VERSION: the broker that Sarama is told to speak to, 3.9.0 by itself.
// FRANZ_GO_VERSION: the newest Kafka whose requests franz-go may send.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	franzscram "github.com/twmb/franz-go/pkg/sasl/scram"
	"github.com/xdg-go/scram"
)

type door struct {
	address, topic, protocol, mechanism, user, password, authority string
}

const initProducerID = 22

var value = bytes.Repeat([]byte("x"), 50000)

func main() {
	clients := map[string]func(door) ([]byte, error){"sarama": bySarama, "franz-go": byFranz}
	a := os.Args[2:]
	if os.Args[1] == "produce-by-sarama" {
		if err := produceBySarama(a[0], a[1], a[2], a[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	read, err := clients[os.Args[1]](door{a[0], a[1], a[2], a[3], a[4], a[5], a[6]})
	if err == nil && !bytes.Equal(read, value) {
		err = fmt.Errorf("read %d bytes that were not written", len(read))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (d door) tls() (*tls.Config, error) {
	if !strings.HasSuffix(d.protocol, "SSL") {
		return nil, nil
	}
	trusted, err := os.ReadFile(d.authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(trusted) {
		return nil, fmt.Errorf("%s holds no certificate", d.authority)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

func bySarama(d door) ([]byte, error) {
	config := sarama.NewConfig()
	config.Version = sarama.V3_9_0_0
	if name := os.Getenv("SARAMA_VERSION"); name != "" {
		version, err := sarama.ParseKafkaVersion(name)
		if err != nil {
			return nil, err
		}
		config.Version, config.ClientID = version, "sarama-at-"+name
	}
	config.Producer.Return.Successes = true
	config.Metadata.Retry.Max = 1
	trust, err := d.tls()
	if err != nil {
		return nil, err
	}
	config.Net.TLS.Enable, config.Net.TLS.Config = trust != nil, trust
	if d.mechanism != "" {
		config.Net.SASL.Enable = true
		config.Net.SASL.Mechanism = sarama.SASLMechanism(d.mechanism)
		config.Net.SASL.User, config.Net.SASL.Password = d.user, d.password
		if hash, known := hashes[d.mechanism]; known {
			config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{hash: hash} }
		}
	}
	producer, err := sarama.NewSyncProducer([]string{d.address}, config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	sent := &sarama.ProducerMessage{Topic: d.topic, Partition: 0, Value: sarama.ByteEncoder(value)}
	if _, _, err = producer.SendMessage(sent); err != nil {
		return nil, err
	}
	consumer, err := sarama.NewConsumer([]string{d.address}, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(d.topic, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	select {
	case message := <-partition.Messages():
		return message.Value, nil
	case <-time.After(20 * time.Second):
		return nil, fmt.Errorf("no record after 20 s")
	}
}

var hashes = map[string]scram.HashGeneratorFcn{"SCRAM-SHA-256": scram.SHA256, "SCRAM-SHA-512": scram.SHA512}

// scramClient is what Sarama leaves to its users.
type scramClient struct {
	hash         scram.HashGeneratorFcn
	conversation *scram.ClientConversation
}

func (c *scramClient) Begin(user, password, authzID string) error {
	client, err := c.hash.NewClient(user, password, authzID)
	if err == nil {
		c.conversation = client.NewConversation()
	}
	return err
}

func (c *scramClient) Step(challenge string) (string, error) { return c.conversation.Step(challenge) }
func (c *scramClient) Done() bool                            { return c.conversation.Done() }

func byFranz(d door) ([]byte, error) {
	options := []kgo.Opt{kgo.SeedBrokers(d.address), kgo.ConsumeTopics(d.topic), kgo.AllowAutoTopicCreation()}
	trust, err := d.tls()
	if err != nil {
		return nil, err
	}
	if trust != nil {
		options = append(options, kgo.DialTLSConfig(trust))
	}
	if d.mechanism != "" {
		login := franzscram.Auth{User: d.user, Pass: d.password}
		options = append(options, kgo.SASL(map[string]sasl.Mechanism{
			"PLAIN":         plain.Auth{User: d.user, Pass: d.password}.AsMechanism(),
			"SCRAM-SHA-256": login.AsSha256Mechanism(),
			"SCRAM-SHA-512": login.AsSha512Mechanism(),
		}[d.mechanism]))
	}
	if name := os.Getenv("FRANZ_GO_VERSION"); name != "" {
		versions := kversion.FromString(name)
		if versions == nil {
			return nil, fmt.Errorf("franz-go knows no Kafka %s", name)
		}
		options = append(options, kgo.MaxVersions(versions), kgo.ClientID("kgo-at-"+name))
		if !versions.HasKey(initProducerID) {
			options = append(options, kgo.DisableIdempotentWrite())
		}
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: d.topic, Value: value}).FirstErr(); err != nil {
		return nil, err
	}
	fetched := client.PollFetches(ctx)
	if err := fetched.Err(); err != nil {
		return nil, err
	}
	return fetched.Records()[0].Value, nil
}
