//go:build compat

package compat

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
)

// files lists a partition's files of a kind on a broker, in order of their offsets.
func files(b *cluster.Broker, topic string, partition int, suffix string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(b.DataDir(), fmt.Sprintf("%s-%d", topic, partition), "*"+suffix))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no %s of %s-%d", suffix, topic, partition)
	}
	return found, err
}

// rewriteNewest rewrites the newest of some files.
func rewriteNewest(list []string, how func(content []byte) []byte) error {
	path := list[len(list)-1]
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, how(content), 0o644)
}

// eachFile does something to all of them.
func eachFile(list []string, do func(path string) error) error {
	var errs []error
	for _, path := range list {
		errs = append(errs, do(path))
	}
	return errors.Join(errs...)
}

// damages are what may have happened to the files of a killed broker (S33). Those of .log are about its tail, since what lies
// before was synced long ago.
var damages = []struct {
	name, suffix string
	do           func(list []string) error
}{
	{"the last 7 bytes of the log are lost", ".log", func(l []string) error {
		return rewriteNewest(l, func(p []byte) []byte { return p[:max(len(p)-7, 0)] })
	}},
	{"the tail of the log is zeros", ".log", func(l []string) error {
		return rewriteNewest(l, func(p []byte) []byte { clear(p[max(len(p)-3000, 0):]); return p })
	}},
	{"zeros behind the log", ".log", func(l []string) error {
		return rewriteNewest(l, func(p []byte) []byte { return append(p, make([]byte, 5000)...) })
	}},
	{"a bit of the last batch is flipped", ".log", func(l []string) error {
		return rewriteNewest(l, func(p []byte) []byte {
			if len(p) > 0 {
				p[len(p)-1] ^= 4
			}
			return p
		})
	}},
	{"indexes are empty", "index", func(l []string) error {
		return eachFile(l, func(path string) error { return os.Truncate(path, 0) })
	}},
	{"indexes are garbage", "index", func(l []string) error {
		return eachFile(l, func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte{0xa5}, 1200), 0o644) })
	}},
	{"indexes are gone", "index", func(l []string) error { return eachFile(l, os.Remove) }},
	{"snapshots are gone", ".snapshot", func(l []string) error { return eachFile(l, os.Remove) }},
	{"snapshots are garbage", ".snapshot", func(l []string) error {
		return eachFile(l, func(path string) error { return os.WriteFile(path, []byte("garbage"), 0o644) })
	}},
}

// S33: a broker is killed under load, its files are damaged, it is killed once more while it recovers, and comes back: in sync,
// byte for byte what the other has, with nothing that was acknowledged lost or doubled.
func TestDamage_KilledUnderLoad_ComesBackEqual(t *testing.T) {
	jackdawOnly(t, "it takes minutes to start that often")
	t.Run("as the controller", func(t *testing.T) { damageUnderLoad(t, true) })
	t.Run("seen by the controller", func(t *testing.T) { damageUnderLoad(t, false) })
}

func damageUnderLoad(t *testing.T, isController bool) {
	t.Helper()
	c := cluster.Start(t, cluster.Options{Brokers: 2, Config: map[string]string{
		"zookeeper.session.timeout.ms": shortSession(), "auto.leader.rebalance.enable": "false",
	}})
	topic, b := topicName(t), c.Broker(1)
	if !isController { // the first that starts is
		if err := errors.Join(b.Stop(), b.Start(), c.WaitAll()); err != nil {
			t.Fatal(err)
		}
	}
	createAssigned(t, c, topic, []string{"segment.bytes", "50000"}, []int32{1, 2}, []int32{2, 1})
	cl := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.MaxBufferedRecords(1000),
		kgo.ProducerBatchMaxBytes(4<<10), kgo.RetryTimeout(90*time.Second), kgo.RequestRetries(1000))
	total := int64(len(damages)+1) * 4000
	l := startLoad(t, cl, topic, 2, total)
	for i, d := range damages {
		l.allowed.Add(4000)
		l.waitAcked(t, int64(i)*4000+1500, 60*time.Second)
		if err := b.Kill(); err != nil {
			t.Fatal(err)
		}
		for p := range 2 {
			list, err := files(b, topic, p, d.suffix)
			if err == nil {
				err = d.do(slices.Clone(list))
			}
			if err != nil && !(d.suffix == ".snapshot" && len(list) == 0) {
				t.Fatalf("%s: %v", d.name, err)
			}
		}
		if err := b.Launch(); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 { // it dies again as soon as it reads its logs
			if err := b.WaitOutput("recovering logs", 20*time.Second); err != nil {
				t.Fatalf("%s: %v\n%s", d.name, err, b.Tail(20))
			}
			if err := errors.Join(b.Kill(), b.Launch()); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.WaitStarted(); err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		for p := range 2 {
			waitISR(t, c, topic, p, 60*time.Second, 1, 2)
		}
		if _, err := admin(t, c).ElectLeaders(t.Context(), kadm.ElectPreferredReplica, nil); err != nil { // so that it is killed as a leader
			t.Fatal(err)
		}
	}
	l.allowed.Store(total)
	l.waitAcked(t, total, 90*time.Second)
	l.checkContents(t, c, total)
	for p := range 2 {
		checkReplicasEqual(t, c, topic, p)
	}
}
