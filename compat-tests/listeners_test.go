//go:build compat

package compat

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// twoListeners is a broker's INTERNAL and EXTERNAL address; the external one is advertised under another name.
type twoListeners struct{ internal, external *cluster.Port }

func reserve(t *testing.T) *cluster.Port {
	t.Helper()
	p, err := cluster.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}

// TestListeners_AnswersFitTheListener: three brokers, two listeners each, but the third has no EXTERNAL.
func TestListeners_AnswersFitTheListener(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 0})
	var ports []twoListeners
	for id := 1; id <= 3; id++ {
		b, err := c.Add(id, cluster.Target())
		if err != nil {
			t.Fatal(err)
		}
		p := twoListeners{reserve(t), reserve(t)}
		ports = append(ports, p)
		listeners := []string{"INTERNAL://" + p.internal.Addr(), "EXTERNAL://" + p.external.Addr()}
		advertised := []string{listeners[0], fmt.Sprintf("EXTERNAL://localhost:%d", p.external.Number)}
		if id == 3 {
			listeners, advertised = listeners[:1], advertised[:1]
		}
		b.Config["listeners"] = strings.Join(listeners, ",") + ",PLAINTEXT://" + b.Addr()
		b.Config["advertised.listeners"] = strings.Join(advertised, ",") + ",PLAINTEXT://" + b.Addr()
		b.Config["listener.security.protocol.map"] = "INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT,PLAINTEXT:PLAINTEXT"
		b.Config["inter.broker.listener.name"] = "INTERNAL"
		b.Config["offsets.topic.num.partitions"] = "1"
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitAll(); err != nil {
		t.Fatal(err)
	}
	createAssigned(t, c, "on-one", nil, []int32{1})
	createAssigned(t, c, "on-three", nil, []int32{3})

	for i, p := range ports {
		checkListener(t, fmt.Sprintf("INTERNAL of %d", i+1), p.internal.Addr(), map[int32]string{
			1: ports[0].internal.Addr(), 2: ports[1].internal.Addr(), 3: ports[2].internal.Addr(),
		})
		if i == 2 {
			continue
		}
		name := fmt.Sprintf("EXTERNAL of %d", i+1)
		checkListener(t, name, p.external.Addr(), map[int32]string{
			1: fmt.Sprintf("localhost:%d", ports[0].external.Number), 2: fmt.Sprintf("localhost:%d", ports[1].external.Number),
		})
		for version, want := range map[int16]int16{5: 5, 6: 72, 12: 72} {
			m := ask[*kmsg.MetadataResponse](t, p.external.Addr(), wire.NewMetadata("on-three"), version)
			if code := m.Topics[0].Partitions[0].ErrorCode; code != want {
				t.Errorf("%s, metadata v%d of a leader without that listener: error %d, want %d", name, version, code, want)
			}
		}
		if m := ask[*kmsg.MetadataResponse](t, p.external.Addr(), wire.NewMetadata("on-one"), 12); m.Topics[0].Partitions[0].Leader != 1 {
			t.Errorf("%s: leader of on-one: %+v", name, m.Topics[0].Partitions[0])
		}
	}
	checkAddedListener(t, c, ports)
}

// checkAddedListener gives the third broker its EXTERNAL while it runs, and takes it away again.
func checkAddedListener(t *testing.T, c *cluster.Cluster, ports []twoListeners) {
	t.Helper()
	third, adm := c.Broker(3), admin(t, c)
	alter := func(op kadm.IncrementalOp, more string) {
		t.Helper()
		var changes []kadm.AlterConfig
		for _, key := range []string{"listeners", "advertised.listeners"} {
			value := third.Config[key] + more
			changes = append(changes, kadm.AlterConfig{Op: op, Name: key, Value: &value})
		}
		if r, err := adm.AlterBrokerConfigs(t.Context(), changes, 3); err != nil || r[0].Err != nil {
			t.Fatal(err, r)
		}
	}
	known := func(want int) {
		t.Helper()
		cluster.Eventually(t, 10*time.Second, "brokers by EXTERNAL", func() error {
			m, err := wire.Metadata(ports[0].external.Addr())
			if err == nil && len(m.Brokers) != want {
				err = fmt.Errorf("%d brokers, want %d", len(m.Brokers), want)
			}
			return err
		})
	}
	addr, epoch := ports[2].external.Addr(), brokerEpoch(t, c, 3)
	alter(kadm.SetConfig, ",EXTERNAL://"+addr)
	known(3)
	conn, err := wire.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	resp, err := conn.Do(wire.NewMetadata("on-three"), 12)
	if err != nil {
		t.Fatal(err)
	}
	if p := resp.(*kmsg.MetadataResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.Leader != 3 {
		t.Errorf("by the added listener: leader %d, error %d", p.Leader, p.ErrorCode)
	}
	alter(kadm.DeleteConfig, "")
	known(2)
	if _, err := conn.Do(wire.NewMetadata(), 12); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("on a connection of the removed listener: %v", err)
	}
	if _, err := wire.Dial(addr); err == nil {
		t.Error("the removed listener takes connections")
	}
	if got := brokerEpoch(t, c, 3); got != epoch {
		t.Errorf("the broker registered anew: epoch %d, was %d", got, epoch)
	}
}

func brokerEpoch(t *testing.T, c *cluster.Cluster, id int) int64 {
	t.Helper()
	epoch, err := c.Tree.BrokerEpoch(id)
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}

// checkListener compares the addresses in Metadata, DescribeCluster and FindCoordinator with what is advertised there.
func checkListener(t *testing.T, name, addr string, want map[int32]string) {
	t.Helper()
	m := ask[*kmsg.MetadataResponse](t, addr, wire.NewMetadata(), 12)
	d := ask[*kmsg.DescribeClusterResponse](t, addr, kmsg.NewPtrDescribeClusterRequest(), 0)
	if len(m.Brokers) != len(want) || len(d.Brokers) != len(want) {
		t.Errorf("%s: metadata has %d brokers, DescribeCluster %d, want %d", name, len(m.Brokers), len(d.Brokers), len(want))
	}
	for _, b := range m.Brokers {
		if got := fmt.Sprintf("%s:%d", b.Host, b.Port); got != want[b.NodeID] {
			t.Errorf("%s: metadata names broker %d as %s, want %s", name, b.NodeID, got, want[b.NodeID])
		}
	}
	for _, b := range d.Brokers {
		if got := fmt.Sprintf("%s:%d", b.Host, b.Port); got != want[b.NodeID] {
			t.Errorf("%s: DescribeCluster names broker %d as %s, want %s", name, b.NodeID, got, want[b.NodeID])
		}
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKeys = []string{"g"}
	var found kmsg.FindCoordinatorResponseCoordinator
	cluster.Eventually(t, 20*time.Second, "coordinator", func() error {
		r, err := wire.Ask[*kmsg.FindCoordinatorResponse](addr, req, 4)
		if err != nil {
			return err
		}
		found = r.Coordinators[0]
		if found.ErrorCode != 0 && len(want) == 3 { // else it may live on the broker without this listener
			return fmt.Errorf("error %d", found.ErrorCode)
		}
		return nil
	})
	if found.ErrorCode == 0 && fmt.Sprintf("%s:%d", found.Host, found.Port) != want[found.NodeID] {
		t.Errorf("%s: coordinator %d at %s:%d, want %s", name, found.NodeID, found.Host, found.Port, want[found.NodeID])
	}
}

// TestListeners_RestartWithAnotherPort_Followed: what a broker advertises after a restart is what clients are told.
func TestListeners_RestartWithAnotherPort_Followed(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 2, Config: map[string]string{"zookeeper.session.timeout.ms": shortSession()}})
	b, extra := c.Broker(2), reserve(t)
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	b.Config["listeners"] = "PLAINTEXT://" + b.Addr() + ",OTHER://" + extra.Addr()
	b.Config["advertised.listeners"] = "PLAINTEXT://localhost:" + strings.Split(b.Addr(), ":")[1] + ",OTHER://" + extra.Addr()
	b.Config["listener.security.protocol.map"] = "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT"
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, 15*time.Second, "the new address at broker 1", func() error {
		m, err := wire.Metadata(c.Broker(1).Addr())
		if err != nil {
			return err
		}
		for _, known := range m.Brokers {
			if known.NodeID == 2 && known.Host == "localhost" {
				return nil
			}
		}
		return fmt.Errorf("brokers %+v", m.Brokers)
	})
}
