//go:build compat

package compat

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// 200,000 offsets, as much as the small heap of the tests' JVMs takes: so many groups have committed each partition of a topic.
const (
	loadTopic      = "loaded-offsets"
	loadPartitions = 100
	loadGroups     = 2_000
)

// offsetsLoaded matches what brokers say when they have read __consumer_offsets-0.
var offsetsLoaded = map[cluster.Kind]*regexp.Regexp{
	cluster.Jackdaw: regexp.MustCompile(`loaded .*topic=__consumer_offsets partition=0 .*took=(\S+)`),
	cluster.Apache:  regexp.MustCompile(`Finished loading offsets and group metadata from __consumer_offsets-0 in (\d+ m)illiseconds for epoch \d+, of which`),
}

// TestLoad_Offsets_NoSlowerThanApache: a coordinator with 200,000 offsets is ready no later than that of Apache Kafka on
// the same files.
func TestLoad_Offsets_NoSlowerThanApache(t *testing.T) {
	jackdawOnly(t, "it is what is compared with")
	if testing.Short() {
		t.Skip("200,000 offsets are written")
	}
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"offsets.topic.num.partitions": "1"}})
	b := c.Broker(1)
	createTopic(t, c, loadTopic, loadPartitions, 1)
	coordinator(t, c, "group-0")
	commitMany(t, b.Addr())
	took := map[cluster.Kind]time.Duration{}
	for _, kind := range []cluster.Kind{cluster.Jackdaw, cluster.Apache, cluster.Jackdaw} {
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := b.Become(kind); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		took[kind] = offsetsLoadTime(t, b)
		t.Logf("%s loads in %v", kind, took[kind])
		for _, g := range []int{0, loadGroups - 1} {
			offsets, err := admin(t, c).FetchOffsets(t.Context(), fmt.Sprint("group-", g))
			if o, ok := offsets.Lookup(loadTopic, loadPartitions-1); err != nil || !ok || o.At != int64(g) || len(offsets[loadTopic]) != loadPartitions {
				t.Errorf("%s: group %d has offset %d, %v", kind, g, o.At, err)
			}
		}
	}
	if took[cluster.Jackdaw] > took[cluster.Apache] {
		t.Errorf("Jackdaw needs %v, Apache Kafka %v", took[cluster.Jackdaw], took[cluster.Apache])
	}
}

// commitMany commits each group's number as its offset of all partitions, over a few connections.
func commitMany(t *testing.T, addr string) {
	t.Helper()
	const connections = 8
	var all sync.WaitGroup
	errs := make([]error, connections)
	for i := range connections {
		conn := dial(t, addr)
		all.Go(func() {
			for g := i; g < loadGroups && errs[i] == nil; g += connections {
				errs[i] = commitAll(conn, g)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func commitAll(conn *wire.Conn, g int) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = fmt.Sprint("group-", g), -1
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = loadTopic
	for i := range int32(loadPartitions) {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = i, int64(g)
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	r, err := conn.Do(req, 8)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[loadPartitions-1].ErrorCode)
}

// offsetsLoadTime waits until the broker says how long it has loaded the offsets.
func offsetsLoadTime(t *testing.T, b *cluster.Broker) time.Duration {
	t.Helper()
	var took time.Duration
	cluster.Eventually(t, 2*time.Minute, "loaded offsets", func() error {
		m := offsetsLoaded[b.Kind].FindSubmatch(b.Output())
		if m == nil {
			return errNotYet
		}
		var err error
		if took, err = time.ParseDuration(strings.Replace(string(m[1]), " m", "ms", 1)); err != nil {
			return cluster.Stop(err)
		}
		return nil
	})
	return took
}
