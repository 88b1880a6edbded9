package cluster

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startLimit is generous: a JVM broker takes 4 s alone and far more beside others on two cores.
const startLimit = 120 * time.Second

// Broker is one broker process with its data directory and its port. It keeps both over restarts.
type Broker struct {
	*Process
	ID     int
	Kind   Kind
	Dir    string            // server.properties and the data
	Config map[string]string // what server.properties gets, with {dir} for Dir; change it before a Start
	port   *Port
}

// Addr is the advertised address of the PLAINTEXT listener.
func (b *Broker) Addr() string { return b.port.Addr() }

// DataDir is the only entry of log.dirs.
func (b *Broker) DataDir() string { return filepath.Join(b.Dir, "data") }

// newBroker reserves a port and prepares the process; nothing runs yet.
func newBroker(id int, kind Kind, dir, zookeeper string) (*Broker, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	port, err := ReservePort()
	if err != nil {
		return nil, err
	}
	b := &Broker{ID: id, Kind: kind, Dir: dir, port: port}
	b.Config = map[string]string{
		"broker.id":                            strconv.Itoa(id),
		"listeners":                            "PLAINTEXT://" + port.Addr(),
		"zookeeper.connect":                    zookeeper,
		"zookeeper.session.timeout.ms":         "6000",
		"log.dirs":                             b.DataDir(),
		"offsets.topic.num.partitions":         "5",
		"transaction.state.log.num.partitions": "5",
		"transaction.state.log.min.isr":        "1",
		"group.initial.rebalance.delay.ms":     "0",
		"log.cleaner.dedupe.buffer.size":       "4194304",
	}
	if err := b.command(); err != nil {
		port.Release()
		return nil, err
	}
	return b, nil
}

func (b *Broker) command() error {
	name := "broker " + strconv.Itoa(b.ID)
	file := b.propertiesFile()
	if b.Kind == Jackdaw {
		path, err := Binary()
		if err != nil {
			return err
		}
		b.Process = newProcess(name, b.Dir, path, "start", file)
		return nil
	}
	log4j := filepath.Join(b.Dir, "log4j")
	if err := writeLog4j(log4j, "INFO"); err != nil {
		return err
	}
	path, line, err := java(log4j, []string{"-Xmx384m"}, "kafka.Kafka", file)
	if err != nil {
		return err
	}
	b.Process = newProcess(name, b.Dir, path, line...)
	return nil
}

func (b *Broker) propertiesFile() string { return filepath.Join(b.Dir, "server.properties") }

// Launch writes server.properties and starts the process, without waiting for anything.
func (b *Broker) Launch() error {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(b.Config)) {
		fmt.Fprintf(&text, "%s=%s\n", key, strings.ReplaceAll(b.Config[key], "{dir}", b.Dir))
	}
	if err := os.WriteFile(b.propertiesFile(), []byte(text.String()), 0o644); err != nil {
		return err
	}
	return b.Process.Start()
}

// WaitStarted waits for the line that says that clients can use the broker.
func (b *Broker) WaitStarted() error {
	line := fmt.Sprintf("[KafkaServer id=%d] started (kafka.server.KafkaServer)", b.ID)
	if err := b.WaitOutput(line, startLimit); err != nil {
		return fmt.Errorf("%w\n%s", err, b.Tail(40))
	}
	return nil
}

// Start is Launch and WaitStarted.
func (b *Broker) Start() error {
	if err := b.Launch(); err != nil {
		return err
	}
	return b.WaitStarted()
}

// Stop ends the broker by SIGTERM: a controlled shutdown. It must exit with status 0 (a JVM reports 143).
func (b *Broker) Stop() error {
	code, err := b.Terminate(60 * time.Second)
	if err == nil && code != 0 && (b.Kind != Apache || code != 143) {
		err = fmt.Errorf("%s: exit status %d after SIGTERM", b.Name, code)
	}
	return err
}

// Freeze stops the process as a debugger would; its connections stay open.
func (b *Broker) Freeze() error { return b.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (b *Broker) Thaw() error { return b.Signal(syscall.SIGCONT) }

// Close kills the broker and gives its port back.
func (b *Broker) Close() error {
	err := errors.Join(b.Thaw(), b.Kill())
	b.port.Release()
	return err
}
