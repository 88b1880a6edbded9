package rig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Kind is a broker's make.
type Kind string

// The brokers that are compared.
const (
	Apache  Kind = "apache"
	Jackdaw Kind = "jackdaw"
)

// Rig holds what all clusters of a run have in common.
type Rig struct {
	Java Java
	// Binary is the path of Jackdaw's.
	Binary string
	// Dir is where data and logs go.
	Dir       string
	ZooKeeper *ZooKeeper
	clusters  int
}

// Cluster is a number of brokers of one kind.
type Cluster struct {
	Kind    Kind
	Brokers []*Broker
}

// Broker is one broker's process.
type Broker struct {
	*Process
	Addr string
	run  func(ctx context.Context) (*Process, error)
	id   int
}

// Prepare lays out a cluster under a chroot of its own, without starting it. extra are more settings of the brokers.
func (r *Rig) Prepare(ctx context.Context, kind Kind, brokers int, extra map[string]string) (*Cluster, error) {
	r.clusters++
	c := &Cluster{Kind: kind}
	for id := 1; id <= brokers; id++ {
		addr, err := freeAddr(ctx)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(r.Dir, fmt.Sprintf("%s-%d-%d", kind, r.clusters, id))
		settings := singleNodeTopics()
		settings["broker.id"] = strconv.Itoa(id)
		settings["listeners"] = "PLAINTEXT://" + addr
		settings["zookeeper.connect"] = fmt.Sprintf("%s/bench-%d", r.ZooKeeper.Addr, r.clusters)
		settings["log.dirs"] = filepath.Join(dir, "data")
		maps.Copy(settings, extra)
		file, err := writeProperties(dir, settings)
		if err != nil {
			return nil, err
		}
		c.Brokers = append(c.Brokers, &Broker{Addr: addr, id: id, run: r.command(kind, dir, file)})
	}
	return c, nil
}

// singleNodeTopics are the settings with which internal topics fit one broker, and a lone consumer does not wait.
func singleNodeTopics() map[string]string {
	return map[string]string{
		"offsets.topic.replication.factor":         "1",
		"offsets.topic.num.partitions":             "5",
		"transaction.state.log.replication.factor": "1",
		"transaction.state.log.min.isr":            "1",
		"group.initial.rebalance.delay.ms":         "0",
	}
}

// Start prepares a cluster and starts it.
func (r *Rig) Start(ctx context.Context, kind Kind, brokers int, extra map[string]string) (*Cluster, error) {
	c, err := r.Prepare(ctx, kind, brokers, extra)
	if err != nil {
		return nil, err
	}
	return c, c.Start(ctx)
}

func (r *Rig) command(kind Kind, dir, file string) func(context.Context) (*Process, error) {
	return func(ctx context.Context) (*Process, error) {
		if kind == Jackdaw {
			return start(ctx, dir, "broker", r.Binary, "start", file)
		}
		return r.Java.start(ctx, dir, "broker", r.Java.brokerOptions(), "kafka.Kafka", file)
	}
}

func writeProperties(dir string, settings map[string]string) (file string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s=%s\n", key, settings[key])
	}
	file = filepath.Join(dir, "server.properties")
	return file, os.WriteFile(file, []byte(text.String()), 0o644)
}

// Start starts all brokers and waits until clients can use them.
func (c *Cluster) Start(ctx context.Context) error {
	for _, b := range c.Brokers {
		if err := b.Launch(ctx); err != nil {
			return err
		}
	}
	for _, b := range c.Brokers {
		if err := b.waitOutput(ctx, fmt.Sprintf("[KafkaServer id=%d] started (kafka.server.KafkaServer)", b.id)); err != nil {
			return err
		}
	}
	return nil
}

// Launch starts the broker's process and waits for nothing.
func (b *Broker) Launch(ctx context.Context) (err error) {
	b.Process, err = b.run(ctx)
	return err
}

// Bootstrap is the address of the first broker.
func (c *Cluster) Bootstrap() string { return c.Brokers[0].Addr }

// PIDs of the brokers.
func (c *Cluster) PIDs() []int {
	var out []int
	for _, b := range c.Brokers {
		out = append(out, b.PID())
	}
	return out
}

// Stop ends the brokers in order.
func (c *Cluster) Stop() error {
	var err error
	for _, b := range slices.Backward(c.Brokers) {
		err = errors.Join(err, b.Process.Stop())
	}
	return err
}

// Kill ends the brokers at once.
func (c *Cluster) Kill() {
	for _, b := range c.Brokers {
		b.Process.Kill()
	}
}
