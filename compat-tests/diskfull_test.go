//go:build compat

package compat

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// produceUntilRefused appends batches of about 256 KiB until one is refused, and returns the values that were acknowledged
// and the error.
func produceUntilRefused(t *testing.T, addr, topic string, partition int32) (acked []string, code int16) {
	t.Helper()
	for i := range 1000 {
		v := fmt.Sprintf("%d %s", i, strings.Repeat("x", 256<<10))
		req := wire.NewProduce(1, wire.Part{Topic: topic, Partition: partition, Records: wire.Values(v).Encode()})
		r, err := wire.Do(addr, req, 9)
		if err != nil {
			t.Fatalf("produce %d: %v: a full disk has to be told, not to be felt", i, err)
		}
		p := r.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			return acked, p.ErrorCode
		}
		acked = append(acked, v)
	}
	t.Fatal("the disk does not get full")
	return nil, 0
}

// checkAcked reads a partition: all that was acknowledged has to be there, in order, at its beginning.
func checkAcked(t *testing.T, c *cluster.Cluster, topic string, acked []string) {
	t.Helper()
	got := franzRead(t, c, topic, len(acked))[0]
	if !slices.Equal(got, acked) {
		t.Errorf("%d records can be read, %d were acknowledged", len(got), len(acked))
	}
}

func clean(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ".kafka_cleanshutdown"))
	return err == nil
}

// S33: the only directory is on a disk of 64 MiB. When it is full the broker says so and stops, unclean; with space again it
// starts by itself, and all that was acknowledged is there.
func TestDiskFull_OnlyDirectory_BrokerStopsAndRecovers(t *testing.T) {
	disk := cluster.MountTmpfs(t, 64<<20)
	data := filepath.Join(disk.Dir, "data")
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"log.dirs": data}})
	b := c.Broker(1)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1, "segment.bytes", "4194304")
	if err := disk.Fill(20 << 20); err != nil {
		t.Fatal(err)
	}
	acked, code := produceUntilRefused(t, b.Addr(), topic, 0)
	if code != kerr.KafkaStorageError.Code {
		t.Errorf("error %d, want 56", code)
	}
	exit, err := b.Wait(30 * time.Second)
	if err != nil || exit != 1 {
		t.Fatalf("the broker ends with %d, %v, want 1", exit, err)
	}
	if out := b.Output(); cluster.Target() == cluster.Jackdaw && (!bytes.Contains(out, []byte("log.dirs: no directory is left")) || !bytes.Contains(out, []byte("no space left on device"))) {
		t.Errorf("it does not say why:\n%s", b.Tail(5))
	}
	if clean(data) {
		t.Error("there is the mark of a clean shutdown")
	}
	if err := disk.Free(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, c, b)
	if err := b.Start(); err != nil {
		t.Fatalf("start with space again: %v", err)
	}
	waitLeaders(t, c, topic, 1)
	checkAcked(t, c, topic, acked)
	acked = append(acked, "after")
	mustProduce(t, b.Addr(), topic, 0, 1, wire.Values("after"))
	checkAcked(t, c, topic, acked)
}

// S33: two brokers; one of the two directories of broker 1 fails. Its leaders move, those of the other directory stay, and
// after a restart with a good disk broker 1 is in sync again.
func TestDiskFull_OneOfTwoDirectories_LeadersMove(t *testing.T) {
	disk := cluster.MountTmpfs(t, 64<<20)
	bad, good := filepath.Join(disk.Dir, "data"), filepath.Join(t.TempDir(), "data")
	c := cluster.Start(t, cluster.Options{Brokers: 2, Config: map[string]string{"auto.leader.rebalance.enable": "false", "controlled.shutdown.enable": "true"}})
	b := c.Broker(1)
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	b.Config["log.dirs"] = bad + "," + good
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitAll(); err != nil {
		t.Fatal(err)
	}
	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{1, 2}, []int32{1, 2}, []int32{1, 2}, []int32{1, 2})
	var there, elsewhere []int
	for p := range 4 {
		waitISR(t, c, topic, p, 20*time.Second, 1, 2)
		if _, err := os.Stat(filepath.Join(bad, fmt.Sprintf("%s-%d", topic, p))); err == nil {
			there = append(there, p)
		} else {
			elsewhere = append(elsewhere, p)
		}
	}
	if len(there) != 2 || len(elsewhere) != 2 {
		t.Fatalf("partitions %v in one directory, %v in the other", there, elsewhere)
	}
	for p := range int32(4) {
		mustProduce(t, b.Addr(), topic, p, -1, wire.Values("before"))
	}
	if err := disk.Fill(4 << 20); err != nil {
		t.Fatal(err)
	}
	if _, code := produceUntilRefused(t, b.Addr(), topic, int32(there[0])); code != kerr.KafkaStorageError.Code {
		t.Errorf("error %d, want 56", code)
	}
	for _, p := range there {
		waitISR(t, c, topic, p, 30*time.Second, 2)
		if s, err := c.Tree.State(topic, p); err != nil || s.Leader != 2 {
			t.Errorf("partition %d of the failed directory: %+v, %v, want leader 2", p, s, err)
		}
		mustProduce(t, c.Broker(2).Addr(), topic, int32(p), -1, wire.Values("moved"))
	}
	for _, p := range elsewhere {
		if s := waitISR(t, c, topic, p, 10*time.Second, 1, 2); s.Leader != 1 {
			t.Errorf("partition %d of the good directory: %+v, want leader 1", p, s)
		}
		mustProduce(t, b.Addr(), topic, int32(p), -1, wire.Values("stays"))
	}
	if m, err := wire.Metadata(b.Addr(), topic); err == nil {
		for _, p := range m.Topics[0].Partitions {
			if want := slices.Contains(there, int(p.Partition)); slices.Contains(p.OfflineReplicas, 1) != want {
				t.Errorf("partition %d: offline replicas %v, broker 1 among them: want %v", p.Partition, p.OfflineReplicas, want)
			}
		}
	}
	if err := b.Stop(); err != nil {
		t.Fatalf("stop with a failed directory: %v", err)
	}
	if clean(bad) || !clean(good) {
		t.Errorf("marks of a clean shutdown: in the failed directory %v, in the good one %v", clean(bad), clean(good))
	}
	if err := disk.Free(); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	for p := range 4 {
		waitISR(t, c, topic, p, 60*time.Second, 1, 2)
	}
	want := endOffset(t, c.Broker(2).Addr(), topic, int32(there[0]))
	if err := c.Broker(2).Stop(); err != nil { // broker 1 leads alone what its disk had lost
		t.Fatal(err)
	}
	if _, err := c.Tree.WaitState(topic, there[0], 30*time.Second, "broker 1 as leader", func(s cluster.PartitionState) bool { return s.Leader == 1 }); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, topic, 4)
	if got := endOffset(t, b.Addr(), topic, int32(there[0])); got != want {
		t.Errorf("log end %d at broker 1, %d at broker 2", got, want)
	}
}

// S33: a directory that cannot be used at the start does not keep the broker from serving the others; what was in it is not
// made anew, empty, elsewhere.
func TestDiskFailed_AtTheStart_OthersServe(t *testing.T) {
	disk := cluster.MountTmpfs(t, 64<<20)
	bad, good := filepath.Join(disk.Dir, "data"), filepath.Join(t.TempDir(), "data")
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"log.dirs": bad + "," + good}})
	b := c.Broker(1)
	topic := topicName(t)
	createTopic(t, c, topic, 2, 1)
	for p := range int32(2) {
		mustProduce(t, b.Addr(), topic, p, 1, wire.Values("v"))
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := disk.ReadOnly(true); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err != nil {
		t.Fatalf("start with one directory that is read-only: %v", err)
	}
	served, refused := 0, 0
	for p := range int32(2) {
		inBad := false
		if _, err := os.Stat(filepath.Join(bad, fmt.Sprintf("%s-%d", topic, p))); err == nil {
			inBad = true
		}
		cluster.Eventually(t, 10*time.Second, "the state of the partition", func() error {
			a := produceOne(t, b.Addr(), topic, p, 1, wire.Values("w").Encode())
			switch {
			case inBad && (a.ErrorCode == 56 || a.ErrorCode == 6):
				refused++
				return nil
			case !inBad && a.ErrorCode == 0 && a.BaseOffset == 1:
				served++
				return nil
			}
			return fmt.Errorf("partition %d, failed disk %v: error %d, offset %d", p, inBad, a.ErrorCode, a.BaseOffset)
		})
		if _, err := os.Stat(filepath.Join(good, fmt.Sprintf("%s-%d", topic, p))); inBad && err == nil {
			t.Errorf("partition %d was made anew in the good directory", p)
		}
	}
	if served != 1 || refused != 1 {
		t.Errorf("%d partitions served, %d refused, want one of each", served, refused)
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := disk.ReadOnly(false); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, topic, 2)
	for p := range int32(2) {
		if end := endOffset(t, b.Addr(), topic, p); end < 1 {
			t.Errorf("partition %d ends at %d", p, end)
		}
	}
}
