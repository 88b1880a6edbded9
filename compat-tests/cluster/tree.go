package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	"jackdaw/compat-tests/wire"
)

// Tree reads the znodes of one cluster, as an operator would.
type Tree struct {
	conn   *zk.Conn
	chroot string
}

// PartitionState is the content of /brokers/topics/T/partitions/P/state, and the version of the znode, which is the partition epoch.
type PartitionState struct {
	Leader          int   `json:"leader"`
	LeaderEpoch     int   `json:"leader_epoch"`
	ISR             []int `json:"isr"`
	ControllerEpoch int   `json:"controller_epoch"`
	Version         int32 `json:"-"`
}

// quiet drops the client's own log.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func newTree(addr, chroot string) (*Tree, error) {
	conn, _, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		return nil, fmt.Errorf("zookeeper client: %w", err)
	}
	return &Tree{conn: conn, chroot: chroot}, nil
}

// Close ends the session.
func (t *Tree) Close() { t.conn.Close() }

// Get returns the data of a znode and its stat.
func (t *Tree) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := t.conn.Get(t.chroot + path)
	if err != nil {
		return nil, nil, fmt.Errorf("znode %s: %w", path, err)
	}
	return data, stat, nil
}

// Set writes a znode's data at a version (-1: any).
func (t *Tree) Set(path string, data []byte, version int32) error {
	if _, err := t.conn.Set(t.chroot+path, data, version); err != nil {
		return fmt.Errorf("znode %s: %w", path, err)
	}
	return nil
}

// Create makes a persistent znode, with the empty ones above it that are missing.
func (t *Tree) Create(path string, data []byte) error {
	path = t.chroot + path
	for i := 1; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		if _, err := t.conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("znode %s: %w", path[:i], err)
		}
	}
	if _, err := t.conn.Create(path, data, 0, zk.WorldACL(zk.PermAll)); err != nil {
		return fmt.Errorf("znode %s: %w", path, err)
	}
	return nil
}

// Delete removes a znode, whatever its version.
func (t *Tree) Delete(path string) error {
	if err := t.conn.Delete(t.chroot+path, -1); err != nil {
		return fmt.Errorf("znode %s: %w", path, err)
	}
	return nil
}

// Children lists the names below a znode, sorted.
func (t *Tree) Children(path string) ([]string, error) {
	names, _, err := t.conn.Children(t.chroot + path)
	if err != nil {
		return nil, fmt.Errorf("znode %s: %w", path, err)
	}
	slices.Sort(names)
	return names, nil
}

// Brokers lists the registered broker ids, ascending. None at all is no error.
func (t *Tree) Brokers() ([]int, error) {
	names, err := t.Children("/brokers/ids")
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	var ids []int
	for _, name := range names {
		id, convErr := strconv.Atoi(name)
		err = errors.Join(err, convErr)
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, err
}

// BrokerEpoch is the czxid of a broker's registration.
func (t *Tree) BrokerEpoch(id int) (int64, error) {
	_, stat, err := t.Get("/brokers/ids/" + strconv.Itoa(id))
	if err != nil {
		return 0, err
	}
	return stat.Czxid, nil
}

// Controller is the id of the active controller.
func (t *Tree) Controller() (int, error) {
	var node struct {
		BrokerID int `json:"brokerid"`
	}
	err := t.decode("/controller", &node)
	return node.BrokerID, err
}

// ControllerEpoch is the content of /controller_epoch.
func (t *Tree) ControllerEpoch() (int, error) {
	var epoch int
	err := t.decode("/controller_epoch", &epoch)
	return epoch, err
}

// Assignment returns a topic's replicas by partition, the preferred leader first.
func (t *Tree) Assignment(topic string) (map[int][]int, error) {
	var node struct {
		Partitions map[int][]int `json:"partitions"`
	}
	err := t.decode("/brokers/topics/"+topic, &node)
	return node.Partitions, err
}

// State returns a partition's leader, ISR and epochs.
func (t *Tree) State(topic string, partition int) (PartitionState, error) {
	var s PartitionState
	path := fmt.Sprintf("/brokers/topics/%s/partitions/%d/state", topic, partition)
	data, stat, err := t.Get(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("znode %s: %q: %w", path, data, err)
	}
	s.Version = stat.Version
	slices.Sort(s.ISR)
	return s, nil
}

// WaitState waits until a partition's state satisfies ok and returns it.
func (t *Tree) WaitState(topic string, partition int, limit time.Duration, what string, ok func(PartitionState) bool) (PartitionState, error) {
	var last PartitionState
	err := Until(limit, func() error {
		s, err := t.State(topic, partition)
		if err != nil {
			return err
		}
		last = s
		if !ok(s) {
			return fmt.Errorf("%s-%d: want %s, have %+v", topic, partition, what, s)
		}
		return nil
	})
	return last, err
}

func (t *Tree) decode(path string, into any) error {
	data, _, err := t.Get(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("znode %s: %q: %w", path, data, err)
	}
	return nil
}

// brokersKnownTo lists the broker ids in a broker's Metadata answer, ascending.
func brokersKnownTo(addr string) ([]int, error) {
	r, err := wire.Metadata(addr)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, b := range r.Brokers {
		ids = append(ids, int(b.NodeID))
	}
	slices.Sort(ids)
	return ids, nil
}

func readAll(c net.Conn) (string, error) {
	text, err := io.ReadAll(c)
	return string(text), err
}
