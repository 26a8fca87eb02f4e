// Package stepdown gives Go tests a Kafka of their own, with faults, a clock that the test moves, and every request on record.
//
//	func TestAnOrderIsPublished(t *testing.T) {
//		kafka := stepdown.Start(t)
//		fault := kafka.Error("Produce", "NOT_LEADER_OR_FOLLOWER", stepdown.Fields{"times": 2})
//		publish(kafka.Bootstrap)
//		if fault.Hits() != 2 {
//			t.Fatal("it did not try again")
//		}
//	}
//
// Where something cannot be done, the test fails at once with the reason.
package stepdown

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Fields of a fault or of another request to the control port.
type Fields map[string]any

// Options are what brokers begin with.
type Options struct {
	Brokers int               // 1 if it is 0
	Racks   []string          // where brokers are, in turn
	Config  map[string]string // settings of the brokers
	Topics  map[string]int    // topics that are there when a test begins, with their partitions
	ActAs   string            // the release of Kafka to act as, from 0.10.2 to 4.4
	Image   string            // a docker image in place of stepdown from PATH
}

// Kafka is a running broker or cluster. Clients connect to Bootstrap: HOST:PORT of each broker, with commas between them.
type Kafka struct {
	Bootstrap string
	t         testing.TB
	control   *control
}

var (
	idle     = map[string][]*broker{}
	idleLock sync.Mutex
)

// Start gives a test brokers that no other test has meanwhile. Options, one at most, say what they begin with.
//
// At the end of the test a fault that was armed, is not optional and has never fired fails it; then everything is made as new for the next
// test. The brokers end with the test program, however that ends.
func Start(t testing.TB, options ...Options) *Kafka {
	t.Helper()
	wanted := Options{}
	if len(options) > 0 {
		wanted = options[0]
	}
	if wanted.Brokers == 0 {
		wanted.Brokers = 1
	}
	found, err := take(wanted)
	if err != nil {
		t.Fatal(err)
	}
	kafka := &Kafka{Bootstrap: found.bootstrap, t: t, control: found.control}
	for topic, partitions := range wanted.Topics {
		kafka.CreateTopic(topic, partitions)
	}
	t.Cleanup(func() { kafka.end(wanted, found) })
	return kafka
}

func take(options Options) (*broker, error) {
	idleLock.Lock()
	key := fmt.Sprint(options)
	if kept := idle[key]; len(kept) > 0 {
		idle[key] = kept[1:]
		idleLock.Unlock()
		return kept[0], nil
	}
	idleLock.Unlock()
	return startBroker(options)
}

func (kafka *Kafka) end(options Options, of *broker) {
	if kafka.t.Failed() {
		kafka.t.Log("what the brokers did last:\n" + strings.Join(kafka.lastEvents(), "\n"))
	}
	answer, err := kafka.control.ask("POST", "reset", nil)
	if err != nil {
		of.stop()
		kafka.t.Error(err)
		return
	}
	for _, each := range answer["unfired"].([]any) {
		unfired := each.(map[string]any)
		kafka.t.Errorf("armed and never fired (say optional if that is right): %v, %v", unfired["fault"], unfired["near"])
	}
	idleLock.Lock()
	defer idleLock.Unlock()
	key := fmt.Sprint(options)
	idle[key] = append(idle[key], of)
}

func (kafka *Kafka) lastEvents() []string {
	answer, err := kafka.control.ask("GET", "events/last", nil)
	if err != nil {
		return []string{err.Error()}
	}
	lines := []string{}
	for _, line := range answer["lines"].([]any) {
		lines = append(lines, line.(string))
	}
	return lines
}

// Ask asks the control port for whatever it can do: Ask("POST", "leaders/move", Fields{"topic": "orders"}). GET / of it lists all.
func (kafka *Kafka) Ask(method, path string, fields Fields) map[string]any {
	kafka.t.Helper()
	answer, err := kafka.control.ask(method, path, fields)
	if err != nil {
		kafka.t.Fatal(err)
	}
	return answer
}

// CreateTopic makes a topic of that number of partitions.
func (kafka *Kafka) CreateTopic(name string, partitions int) {
	kafka.t.Helper()
	kafka.Ask("POST", "topics/create", Fields{"topic": name, "partitions": partitions})
}

// DeleteTopic deletes a topic with its records.
func (kafka *Kafka) DeleteTopic(name string) {
	kafka.t.Helper()
	kafka.Ask("POST", "topics/delete", Fields{"topic": name})
}

// DeleteGroup deletes a group that has no members, with its offsets.
func (kafka *Kafka) DeleteGroup(name string) {
	kafka.t.Helper()
	kafka.Ask("POST", "groups/delete", Fields{"group": name})
}

// AwaitConsumers returns when the group has that number of members, and each has fetched from every partition that it was given: what is
// produced then is read by them. After ten seconds the test fails.
func (kafka *Kafka) AwaitConsumers(group string, members int) {
	kafka.t.Helper()
	answer := kafka.Ask("POST", "groups/wait", Fields{"group": group, "members": members})
	if answer["is_there"] != true {
		kafka.t.Fatal(answer["reason"])
	}
}

// Kill ends a broker at once; nothing is flushed.
func (kafka *Kafka) Kill(broker int) {
	kafka.t.Helper()
	kafka.Ask("POST", "brokers/kill", Fields{"broker": broker})
}

// Stop stops a broker in order.
func (kafka *Kafka) Stop(broker int) {
	kafka.t.Helper()
	kafka.Ask("POST", "brokers/stop", Fields{"broker": broker})
}

// StartAgain starts a broker that was killed or stopped, on its port and with its data.
func (kafka *Kafka) StartAgain(broker int) {
	kafka.t.Helper()
	kafka.Ask("POST", "brokers/start", Fields{"broker": broker})
}

// Pause has a broker accept and read, and answer nobody.
func (kafka *Kafka) Pause(broker int) {
	kafka.t.Helper()
	kafka.Ask("POST", "brokers/pause", Fields{"broker": broker})
}

// Resume has it go on.
func (kafka *Kafka) Resume(broker int) {
	kafka.t.Helper()
	kafka.Ask("POST", "brokers/resume", Fields{"broker": broker})
}

// NowMs is the brokers' time in milliseconds since 1970; clients have clocks of their own.
func (kafka *Kafka) NowMs() int64 {
	kafka.t.Helper()
	return int64(kafka.Ask("GET", "clock", nil)["now_ms"].(float64))
}

// Advance moves the brokers' clock by 46s, 2h or 7d; it returns when what falls due on the way has happened.
func (kafka *Kafka) Advance(by string) {
	kafka.t.Helper()
	kafka.Ask("POST", "clock/advance", Fields{"by": by})
}

// PauseClock has the brokers' clock stand still.
func (kafka *Kafka) PauseClock() { kafka.t.Helper(); kafka.Ask("POST", "clock/pause", nil) }

// ResumeClock has it run on.
func (kafka *Kafka) ResumeClock() { kafka.t.Helper(); kafka.Ask("POST", "clock/resume", nil) }

// Request is one that a broker got. Answer: the names of its error codes, empty for success, nil when none came. IsDeprecated: Kafka 4 does
// not serve that version (KIP-896). Line is for people.
type Request struct {
	AtMs         int64
	Broker       int
	API          string
	Version      int
	ClientID     string
	IsDeprecated bool
	Answer       []string
	Line         string
}

// Requests are those of clients to an API, such as Produce, or with "" all, in the order in which they came.
func (kafka *Kafka) Requests(api string) []Request {
	kafka.t.Helper()
	found := []Request{}
	for _, each := range kafka.Ask("GET", "requests", nil)["requests"].([]any) {
		shown := each.(map[string]any)
		request := Request{
			AtMs:         int64(shown["at_ms"].(float64)),
			Broker:       int(shown["broker"].(float64)),
			API:          shown["api"].(string),
			Version:      int(shown["version"].(float64)),
			ClientID:     shown["client_id"].(string),
			IsDeprecated: shown["is_deprecated"].(bool),
			Line:         shown["line"].(string),
		}
		if codes, ok := shown["answer"].([]any); ok {
			request.Answer = []string{}
			for _, code := range codes {
				request.Answer = append(request.Answer, code.(string))
			}
		}
		if api == "" || api == request.API {
			found = append(found, request)
		}
	}
	return found
}
