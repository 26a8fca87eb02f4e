package stepdown

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

const (
	stopWithin = 20 * time.Second
	portTries  = 20
	keptBytes  = 4096
)

var ready = regexp.MustCompile(`^stepdown listening on (\S+), http \S+, control (\S+)`)

// broker is `stepdown serve --temporary`, from PATH or in a container. It ends with its standard input, which closes with this program
// however that ends, and removes its log directory.
type broker struct {
	bootstrap string
	control   *control
	command   *exec.Cmd
	stdin     io.Closer
}

func startBroker(options Options) (*broker, error) {
	image := options.Image
	if image == "" {
		image = os.Getenv("STEPDOWN_IMAGE")
	}
	if image != "" {
		return startContainer(options, image)
	}
	program := os.Getenv("STEPDOWN")
	if program == "" {
		program = "stepdown"
	}
	started, listening, err := run([]string{program}, options, nil)
	if err != nil {
		return nil, err
	}
	started.bootstrap, started.control = listening[1], &control{address: listening[2]}
	return started, nil
}

// Ports of a container are the same inside and outside: clients are told them.
func startContainer(options Options, image string) (*broker, error) {
	first, err := freePorts(options.Brokers)
	if err != nil {
		return nil, err
	}
	port, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	token := hex.EncodeToString(secret)
	last := first + options.Brokers - 1
	docker := []string{
		"docker", "run", "--rm", "--interactive", "--env", "STEPDOWN_ACT_AS",
		"--publish", fmt.Sprintf("127.0.0.1:%d-%d:%d-%d", first, last, first, last),
		"--publish", fmt.Sprintf("127.0.0.1:%d:%d", port, port), image,
	}
	started, _, err := run(docker, options, []string{
		"--listen", fmt.Sprintf("0.0.0.0:%d", first), "--control", fmt.Sprintf("0.0.0.0:%d", port),
		"-o", fmt.Sprintf("advertised.listeners=PLAINTEXT://127.0.0.1:%d", first), "-o", "stepdown.control.token=" + token,
	})
	if err != nil {
		return nil, err
	}
	addresses := []string{}
	for each := first; each <= last; each++ {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", each))
	}
	started.bootstrap = strings.Join(addresses, ",")
	started.control = &control{address: fmt.Sprintf("127.0.0.1:%d", port), token: token}
	return started, nil
}

func run(prefix []string, options Options, addresses []string) (*broker, []string, error) {
	arguments := append(prefix[1:len(prefix):len(prefix)], "serve", "--temporary", "--log-level", "warning", "--brokers", fmt.Sprint(options.Brokers))
	arguments = append(arguments, addresses...)
	if len(options.Racks) > 0 {
		arguments = append(arguments, "--racks", strings.Join(options.Racks, ","))
	}
	if options.ActAs != "" {
		arguments = append(arguments, "--act-as", options.ActAs)
	}
	for name, value := range options.Config {
		arguments = append(arguments, "-o", name+"="+value)
	}
	command := exec.Command(prefix[0], arguments...)
	last := &lastLines{}
	command.Stderr = io.MultiWriter(os.Stderr, last)
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: put stepdown into PATH, or name it by STEPDOWN, or a docker image by STEPDOWN_IMAGE", err)
		}
		return nil, nil, err
	}
	started := &broker{command: command, stdin: stdin}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	listening := ready.FindStringSubmatch(line)
	if listening == nil {
		started.stop()
		return nil, nil, fmt.Errorf("stepdown did not start, it said:\n%s%s", line, last)
	}
	return started, listening, nil
}

// lastLines keeps the end of what is written to it.
type lastLines struct{ kept []byte }

func (last *lastLines) Write(more []byte) (int, error) {
	last.kept = append(last.kept, more...)
	last.kept = last.kept[max(0, len(last.kept)-keptBytes):]
	return len(more), nil
}

// String is it when the process has ended.
func (last *lastLines) String() string { return string(last.kept) }

// stop returns when it has ended.
func (broker *broker) stop() {
	broker.stdin.Close()
	kill := time.AfterFunc(stopWithin, func() { broker.command.Process.Kill() })
	defer kill.Stop()
	broker.command.Wait()
}

// freePorts is the first of that number of ports in a row.
func freePorts(number int) (int, error) {
	for try := 0; try < portTries; try++ {
		held, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		defer held.Close()
		first, free := held.Addr().(*net.TCPAddr).Port, 1
		for ; free < number; free++ {
			next, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+free))
			if err != nil {
				break
			}
			defer next.Close()
		}
		if free == number {
			return first, nil
		}
	}
	return 0, fmt.Errorf("found no %d free ports in a row", number)
}
