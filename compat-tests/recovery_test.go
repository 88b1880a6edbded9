//go:build compat

package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// The data of the recovery test.
const (
	recoveryTopic      = "recovery"
	recoveryPartitions = 4
	recoveryBytes      = 1 << 30
)

// loaded matches what brokers say when they have loaded their logs.
var loaded = map[cluster.Kind]*regexp.Regexp{
	cluster.Jackdaw: regexp.MustCompile(`loaded logs .*took=(\S+)`),
	cluster.Apache:  regexp.MustCompile(`Loaded \d+ logs in (\d+ms) \(unclean log dirs = `),
}

// A killed broker with 1 GiB that nobody had synced is up again no later than Apache Kafka on the same files.
func TestRecovery_OneGiB_NoSlowerThanApache(t *testing.T) {
	jackdawOnly(t, "it is what is compared with")
	if testing.Short() {
		t.Skip("a GiB is written")
	}
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"num.recovery.threads.per.data.dir": "2", "zookeeper.session.timeout.ms": shortSession()}})
	b := c.Broker(1)
	createTopic(t, c, recoveryTopic, recoveryPartitions, 1, "segment.bytes", "134217728")
	writeGiB(t, b.Addr())
	ends := recoveryEnds(t, b.Addr())
	took := map[cluster.Kind]time.Duration{}
	for _, kind := range []cluster.Kind{cluster.Jackdaw, cluster.Apache, cluster.Jackdaw} {
		if err := b.Kill(); err != nil {
			t.Fatal(err)
		}
		// As if nothing had been synced: all is read again.
		if err := os.WriteFile(filepath.Join(b.DataDir(), "recovery-point-offset-checkpoint"), []byte("0\n0\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		waitGone(t, c, b)
		if err := b.Become(kind); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		took[kind] = loadTime(t, b)
		t.Logf("%s loads in %v", kind, took[kind])
		waitLeaders(t, c, recoveryTopic, recoveryPartitions)
		if got := recoveryEnds(t, b.Addr()); got != ends {
			t.Errorf("%s: log ends %s, want %s", kind, got, ends)
		}
	}
	if took[cluster.Jackdaw] > took[cluster.Apache] {
		t.Errorf("Jackdaw needs %v, Apache Kafka %v", took[cluster.Jackdaw], took[cluster.Apache])
	}
}

// writeGiB fills the partitions with batches of 1 MiB, in records of 1 KiB.
func writeGiB(t *testing.T, addr string) {
	t.Helper()
	var records []wire.Record
	for i := range 900 {
		records = append(records, wire.Record{Key: fmt.Appendf(nil, "%d", i), Value: []byte(strings.Repeat("v", 1<<10)), OffsetDelta: int32(i)})
	}
	batch := wire.NewBatch(records...).Encode()
	conn := dial(t, addr)
	for i := range recoveryBytes / len(batch) {
		req := wire.NewProduce(1, wire.Part{Topic: recoveryTopic, Partition: int32(i % recoveryPartitions), Records: batch})
		r, err := conn.Do(req, 9)
		if err != nil || r.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode != 0 {
			t.Fatalf("batch %d: %+v, %v", i, r, err)
		}
	}
}

// recoveryEnds lists the ends of the partitions.
func recoveryEnds(t *testing.T, addr string) string {
	t.Helper()
	var ends []string
	for p := range int32(recoveryPartitions) {
		ends = append(ends, strconv.FormatInt(endOffset(t, addr, recoveryTopic, p), 10))
	}
	return strings.Join(ends, " ")
}

// loadTime is how long the broker says that it has loaded its logs.
func loadTime(t *testing.T, b *cluster.Broker) time.Duration {
	t.Helper()
	m := loaded[b.Kind].FindSubmatch(b.Output())
	if m == nil {
		t.Fatalf("%s does not say how long it has loaded", b.Kind)
	}
	d, err := time.ParseDuration(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
