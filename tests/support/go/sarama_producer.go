package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

// produceBySarama sends each value, and prints a line for each when all have their outcome: an offset, or the error.
//
// Arguments: address, topic, settings as name=number, values.
func produceBySarama(address, topic, settings string, values []string) error {
	config := sarama.NewConfig()
	config.Version = sarama.V2_1_0_0
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Retry.Backoff = 20 * time.Millisecond
	for _, setting := range strings.Fields(settings) {
		name, text, _ := strings.Cut(setting, "=")
		number, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		switch name {
		case "Producer.Idempotent":
			config.Producer.Idempotent = number == 1
		case "Net.MaxOpenRequests":
			config.Net.MaxOpenRequests = number
		case "Producer.Flush.Messages":
			config.Producer.Flush.Messages = number
		case "Producer.Flush.MaxMessages":
			config.Producer.Flush.MaxMessages = number
		default:
			return fmt.Errorf("no setting %s here", name)
		}
	}
	producer, err := sarama.NewAsyncProducer([]string{address}, config)
	if err != nil {
		return err
	}
	outcomes := make([]string, len(values))
	for number, value := range values {
		producer.Input() <- &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value), Metadata: number}
	}
	for range values {
		select {
		case sent := <-producer.Successes():
			outcomes[sent.Metadata.(int)] = strconv.FormatInt(sent.Offset, 10)
		case failed := <-producer.Errors():
			outcomes[failed.Msg.Metadata.(int)] = failed.Err.Error()
		case <-time.After(20 * time.Second):
			return fmt.Errorf("no outcome after 20 s")
		}
	}
	fmt.Println(strings.Join(outcomes, "\n"))
	return producer.Close()
}
