package stepdown

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const apiVersions = 18

// errorCode asks for the versions of APIs, as every client does first, and returns the error code of the answer.
func errorCode(t *testing.T, bootstrap string) int16 {
	t.Helper()
	connection, err := net.Dial("tcp", strings.Split(bootstrap, ",")[0])
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	request := []byte{0, 0, 0, 12, 0, apiVersions, 0, 0, 0, 0, 0, 7, 0, 2, 'm', 'e'}
	if _, err := connection.Write(request); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 10)
	if _, err := io.ReadFull(connection, answer); err != nil {
		t.Fatal(err)
	}
	return int16(binary.BigEndian.Uint16(answer[8:]))
}

func TestAFaultFiresAndTheRequestIsOnRecord(t *testing.T) {
	kafka := Start(t)
	fault := kafka.Error("ApiVersions", "UNSUPPORTED_VERSION", Fields{"client_id": "me", "times": nil})
	if code := errorCode(t, kafka.Bootstrap); code != 35 {
		t.Fatal("the error code is", code)
	}
	fault.Await(1)
	fault.Remove()
	if code := errorCode(t, kafka.Bootstrap); code != 0 || fault.Hits() != 1 {
		t.Fatal("it fired again")
	}
	requests := kafka.Requests("ApiVersions")
	if len(requests) != 2 || requests[0].ClientID != "me" || requests[0].Answer[0] != "UNSUPPORTED_VERSION" {
		t.Fatal(requests)
	}
}

func TestTheClockMoves(t *testing.T) {
	kafka := Start(t)
	before := kafka.NowMs()
	kafka.Advance("46s")
	if kafka.NowMs()-before < 46_000 {
		t.Fatal("it did not move")
	}
}

func TestATopicOfATestIsGoneInTheNext(t *testing.T) {
	options := Options{Topics: map[string]int{"orders": 3}}
	var first *Kafka
	for _, name := range []string{"first", "next"} {
		t.Run(name, func(t *testing.T) {
			kafka := Start(t, options)
			kafka.CreateTopic("of-this-test", 1)
			if first != nil && first.Bootstrap != kafka.Bootstrap {
				t.Fatal("it is another broker")
			}
			first = kafka
		})
	}
}

func TestTestsSideBySideHaveBrokersOfTheirOwn(t *testing.T) {
	one, other := Start(t), Start(t)
	if one.Bootstrap == other.Bootstrap {
		t.Fatal("both have", one.Bootstrap)
	}
}

func TestABrokerThatIsKilledComesBackOnItsPort(t *testing.T) {
	kafka := Start(t)
	kafka.Kill(1)
	kafka.StartAgain(1)
	errorCode(t, kafka.Bootstrap)
}

func TestAClusterMovesItsLeaders(t *testing.T) {
	kafka := Start(t, Options{Brokers: 3, Racks: []string{"a", "b", "c"}, Topics: map[string]int{"orders": 1}})
	for number, each := range kafka.Ask("GET", "brokers", nil)["brokers"].([]any) {
		if rack := each.(map[string]any)["rack"]; rack != string(rune('a'+number)) {
			t.Fatal(number, rack)
		}
	}
	if len(strings.Split(kafka.Bootstrap, ",")) != 3 {
		t.Fatal(kafka.Bootstrap)
	}
	kafka.Ask("POST", "leaders/move", Fields{"topic": "orders"})
}

func TestABrokerThatDoesNotStartSaysWhy(t *testing.T) {
	_, err := take(Options{Brokers: 1, Config: map[string]string{"num.prtitions": "1"}})
	if err == nil || !strings.Contains(err.Error(), "num.prtitions") {
		t.Fatal(err)
	}
}

// TestFails is run by others here, which say so: it fails.
func TestFails(t *testing.T) {
	how := os.Getenv("STEPDOWN_TEST_FAILS")
	if how == "" {
		t.Skip("it is for the others here")
	}
	kafka := Start(t)
	errorCode(t, kafka.Bootstrap)
	switch how {
	case "unfired":
		kafka.Hold("Produce", nil)
	case "misspelt":
		kafka.Hold("Prodce", nil)
	case "optional":
		kafka.Hold("Produce", Fields{"optional": true})
	}
}

func TestWhatWentWrongIsTold(t *testing.T) {
	for how, told := range map[string]string{
		"unfired":  "armed and never fired (say optional if that is right): map[api:[Produce] kind:hold], no request came near it",
		"misspelt": "the name of an API, such as Produce",
		"optional": "",
	} {
		t.Run(how, func(t *testing.T) {
			command := exec.Command(os.Args[0], "-test.run=^TestFails$", "-test.v")
			command.Env = append(os.Environ(), "STEPDOWN_TEST_FAILS="+how)
			output, err := command.CombinedOutput()
			if !strings.Contains(string(output), told) || (err == nil) != (told == "") {
				t.Fatalf("%v: %s", err, output)
			}
			for _, shown := range []string{"what the brokers did last:", "broker 1 ApiVersions v0 from me: ok"} {
				if how == "misspelt" && !strings.Contains(string(output), shown) {
					t.Fatalf("%s", output)
				}
			}
		})
	}
}
