//go:build compat

package compat

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// dynamicKey is a setting of all brokers that is changed while they run.
type dynamicKey struct {
	settings string // key=value key=value
	// effect looks for what the settings do at one broker; its error says what it sees instead.
	effect func(*dynamicProbe) error
}

// dynamicProbe is one broker, and a topic of one partition that it has alone.
type dynamicProbe struct {
	b     *cluster.Broker
	topic string
}

// dynamicKeys are those whose effect shows from outside.
var dynamicKeys = []dynamicKey{
	{"message.max.bytes=500", refuses(wire.Values(strings.Repeat("v", 600)), 1, kerr.MessageTooLarge)},
	{"log.message.timestamp.before.max.ms=60000", refuses(wire.Values("v").At(1), 1, kerr.InvalidTimestamp)},
	{"log.message.timestamp.after.max.ms=60000", refuses(wire.Values("v").At(1<<42), 1, kerr.InvalidTimestamp)},
	{"log.message.timestamp.difference.max.ms=60000", refuses(wire.Values("v").At(1), 1, kerr.InvalidTimestamp)},
	{"log.cleanup.policy=compact", refuses(wire.NewBatch(wire.Record{Value: []byte("v")}), 1, kerr.InvalidRecord)},
	{"log.message.timestamp.type=LogAppendTime", (*dynamicProbe).stampsItself},
	{"compression.type=gzip", (*dynamicProbe).compresses},
	{"log.message.downconversion.enable=false", (*dynamicProbe).doesNotConvert},
	{"transaction.partition.verification.enable=false", (*dynamicProbe).takesUnverified},
	{"producer.id.expiration.ms=1", (*dynamicProbe).forgetsProducers},
	{"log.segment.bytes=1000 log.index.size.max.bytes=8000", (*dynamicProbe).rolls},
	{"log.segment.bytes=1000 log.preallocate=true", (*dynamicProbe).preallocates},
	{"log.index.interval.bytes=1", (*dynamicProbe).indexes},
	{"log.roll.ms=1 log.index.size.max.bytes=8000", (*dynamicProbe).rolls},
	{"log.segment.bytes=1000 log.retention.bytes=0 log.segment.delete.delay.ms=1", (*dynamicProbe).deletes},
	{"log.retention.ms=1 log.segment.delete.delay.ms=1", (*dynamicProbe).deletes},
	{"log.segment.bytes=1000 log.cleanup.policy=compact log.cleaner.min.compaction.lag.ms=0", (*dynamicProbe).compacts},
}

// otherDynamicKeys have no effect that shows from outside, or are looked at elsewhere.
var otherDynamicKeys = []struct{ keys, why string }{
	{"min.insync.replicas", "checkDynamicMinISR"},
	{"unclean.leader.election.enable", "TestDynamicUnclean"},
	{"advertised.listeners listeners listener.security.protocol.map", "TestListeners"},
	{"max.connections max.connections.per.ip max.connections.per.ip.overrides max.connection.creation.rate", "tests of broker and broker/network"},
	{"num.replica.fetchers", "tests of replication"},
	{
		"log.cleaner.threads log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size " +
			"log.cleaner.io.max.bytes.per.second",
		"tests of log/cleaner",
	},
	{
		"compression.gzip.level compression.lz4.level compression.zstd.level log.flush.interval.messages log.flush.interval.ms log.roll.jitter.ms " +
			"log.cleaner.delete.retention.ms log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio",
		"tests of log; they come to a log in one value with those above",
	},
	{"num.recovery.threads.per.data.dir", "counts at the next start, as in Kafka"},
	{"background.threads num.io.threads num.network.threads", "Jackdaw has no such threads"},
	{"metric.reporters principal.builder.class", "Java classes"},
	{"log.local. remote.", "tiered storage"},
	{"ssl. sasl.", "set by listener: tests of security"},
}

// TestDynamicKeys_EachOneThereIs_IsLookedAt compares what a broker lets be changed with the tables.
func TestDynamicKeys_EachOneThereIs_IsLookedAt(t *testing.T) {
	known := map[string]bool{}
	for _, k := range dynamicKeys {
		for _, s := range strings.Fields(k.settings) {
			key, _, _ := strings.Cut(s, "=")
			known[key] = true
		}
	}
	var groups []string
	for _, o := range otherDynamicKeys {
		for _, key := range strings.Fields(o.keys) {
			known[key] = true
			if strings.HasSuffix(key, ".") {
				groups = append(groups, key)
			}
		}
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: brokerResource, ResourceName: "1"}}
	seen := 0
	for _, c := range ask[*kmsg.DescribeConfigsResponse](t, one(t).Brokers[0].Addr(), req, 4).Resources[0].Configs {
		grouped := slices.ContainsFunc(groups, func(g string) bool { return strings.HasPrefix(c.Name, g) })
		switch {
		case c.ReadOnly:
		case !known[c.Name] && !grouped:
			t.Errorf("%s can be changed, and nothing says what comes of it", c.Name)
		default:
			seen++
		}
	}
	if seen < 80 {
		t.Errorf("only %d keys can be changed", seen)
	}
}

// TestDynamicKeys_EveryBroker_WithinASecondAndAfterARestart sets keys for all brokers, and looks at each broker for the effect;
// then restarts them with all that can be set together.
func TestDynamicKeys_EveryBroker_WithinASecondAndAfterARestart(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"log.retention.check.interval.ms": "300", "log.initial.task.delay.ms": "100", "producer.id.expiration.check.interval.ms": "200",
		"log.cleaner.backoff.ms": "100", "log.cleaner.min.compaction.lag.ms": "100000000", "log.cleaner.min.cleanable.ratio": "0.01",
	}})
	adm := admin(t, c)
	last := len(dynamicKeys) - 1
	for i, k := range dynamicKeys {
		probes := dynamicProbes(t, c, i)
		alterDefaults(t, adm, kadm.SetConfig, k.settings)
		took := time.Now()
		expectEffects(t, k, probes)
		t.Logf("%v %s", time.Since(took).Round(time.Millisecond), k.settings)
		if i < last {
			alterDefaults(t, adm, kadm.DeleteConfig, k.settings)
		}
	}
	checkLogLevel(t, c, &dynamicProbe{c.Broker(1), fmt.Sprintf("dynamic-%d-1", last)})
	for _, b := range c.Brokers {
		if err := errors.Join(b.Stop(), b.Start()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitAll(); err != nil {
		t.Fatal(err)
	}
	expectEffects(t, dynamicKeys[last], dynamicProbes(t, c, last+1))
	checkDynamicMinISR(t, c, adm)
}

// checkLogLevel lets one broker write lines of DEBUG, as when a segment is rolled.
func checkLogLevel(t *testing.T, c *cluster.Cluster, p *dynamicProbe) {
	t.Helper()
	debug := func(id int) bool { return bytes.Contains(c.Broker(id).Output(), []byte("] DEBUG ")) }
	set := func(level string) {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = append(req.Resources, incremental(loggerResource, "1", change{opSet, "root", level}))
		if r := ask[*kmsg.IncrementalAlterConfigsResponse](t, c.Broker(1).Addr(), req, 1); r.Resources[0].ErrorCode != 0 {
			t.Fatalf("level %s: %s", level, deref(r.Resources[0].ErrorMessage))
		}
	}
	set("DEBUG")
	cluster.Eventually(t, 10*time.Second, "lines of DEBUG", func() error {
		if debug(1) {
			return nil
		}
		_, err := p.produce(wire.Values(strings.Repeat("v", 600)), 1)
		return errors.Join(errors.New("there are none"), err)
	})
	set("INFO")
	if debug(2) {
		t.Error("another broker writes DEBUG")
	}
}

// checkDynamicMinISR raises the bound above the one replica that two leaders have left.
func checkDynamicMinISR(t *testing.T, c *cluster.Cluster, adm *kadm.Client) {
	t.Helper()
	var probes []*dynamicProbe
	for _, id := range []int{1, 2} {
		p := &dynamicProbe{c.Broker(id), fmt.Sprintf("dynamic-isr-%d", id)}
		createAssigned(t, c, p.topic, nil, []int32{int32(id), 3})
		probes = append(probes, p)
	}
	if err := c.Broker(3).Stop(); err != nil {
		t.Fatal(err)
	}
	for _, p := range probes {
		waitISR(t, c, p.topic, 0, 20*time.Second, p.b.ID)
		if _, err := p.produce(wire.Values("v"), -1); err != nil {
			t.Errorf("with the default: %v", err)
		}
	}
	k := dynamicKey{"min.insync.replicas=2", refuses(wire.Values("v"), -1, kerr.NotEnoughReplicas)}
	alterDefaults(t, adm, kadm.SetConfig, k.settings)
	expectEffects(t, k, probes)
}

// dynamicProbes makes a topic at each broker.
func dynamicProbes(t *testing.T, c *cluster.Cluster, n int) []*dynamicProbe {
	t.Helper()
	var out []*dynamicProbe
	for _, b := range c.Brokers {
		p := &dynamicProbe{b, fmt.Sprintf("dynamic-%d-%d", n, b.ID)}
		createAssigned(t, c, p.topic, nil, []int32{int32(b.ID)})
		out = append(out, p)
	}
	return out
}

func alterDefaults(t *testing.T, adm *kadm.Client, op kadm.IncrementalOp, settings string) {
	t.Helper()
	var changes []kadm.AlterConfig
	for _, s := range strings.Fields(settings) {
		key, value, _ := strings.Cut(s, "=")
		changes = append(changes, kadm.AlterConfig{Op: op, Name: key, Value: &value})
	}
	if r, err := adm.AlterBrokerConfigs(t.Context(), changes); err != nil || r[0].Err != nil {
		t.Fatal(settings, err, r)
	}
}

// expectEffects waits for the effect at all brokers.
func expectEffects(t *testing.T, k dynamicKey, probes []*dynamicProbe) {
	t.Helper()
	var group errgroup.Group
	for _, p := range probes {
		group.Go(func() error {
			err := cluster.Until(20*time.Second, func() error { return k.effect(p) })
			if err != nil {
				err = fmt.Errorf("%s at broker %d: %w", k.settings, p.b.ID, err)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// produce appends a batch; the error is that of the broker.
func (p *dynamicProbe) produce(b *wire.Batch, acks int16) (kmsg.ProduceResponseTopicPartition, error) {
	req := wire.NewProduce(acks, wire.Part{Topic: p.topic, Records: b.Encode()})
	if b.Attributes&transactionalBit != 0 {
		id := "dynamic"
		req.TransactionID = &id
	}
	r, err := wire.Ask[*kmsg.ProduceResponse](p.b.Addr(), req, 9)
	if err != nil {
		return kmsg.ProduceResponseTopicPartition{}, err
	}
	return r.Topics[0].Partitions[0], kerr.ErrorForCode(r.Topics[0].Partitions[0].ErrorCode)
}

// refuses expects an error for a batch that is taken otherwise.
func refuses(b *wire.Batch, acks int16, want error) func(*dynamicProbe) error {
	return func(p *dynamicProbe) error {
		if _, err := p.produce(b, acks); !errors.Is(err, want) {
			return errors.Join(fmt.Errorf("not refused: %w", want), err)
		}
		return nil
	}
}

func (p *dynamicProbe) stampsItself() error {
	r, err := p.produce(wire.Values("v"), 1)
	if err == nil && r.LogAppendTime < 0 {
		err = errors.New("the time is the producer's")
	}
	return err
}

func (p *dynamicProbe) fetch(offset int64, version int16) (kmsg.FetchResponseTopicPartition, error) {
	r, err := wire.Ask[*kmsg.FetchResponse](p.b.Addr(), wire.NewFetch(wire.Position{Topic: p.topic, Offset: offset}), version)
	if err != nil {
		return kmsg.FetchResponseTopicPartition{}, err
	}
	return r.Topics[0].Partitions[0], kerr.ErrorForCode(r.Topics[0].Partitions[0].ErrorCode)
}

func (p *dynamicProbe) compresses() error {
	at, err := p.produce(wire.Values("v"), 1)
	if err != nil {
		return err
	}
	r, err := p.fetch(at.BaseOffset, 11)
	if err != nil {
		return err
	}
	batches, err := wire.Batches(r.RecordBatches)
	if err == nil && batches[0].Attributes&7 != 1 {
		err = fmt.Errorf("codec %d", batches[0].Attributes&7)
	}
	return err
}

func (p *dynamicProbe) doesNotConvert() error {
	if _, err := p.produce(wire.Values("v"), 1); err != nil {
		return err
	}
	if _, err := p.fetch(0, 2); !errors.Is(err, kerr.UnsupportedVersion) {
		return errors.Join(errors.New("fetch v2 is converted"), err)
	}
	return nil
}

// transactionalBit is set in the attributes of transactional batches.
const transactionalBit = 1 << 4

func (p *dynamicProbe) takesUnverified() error {
	b := wire.Values("v").Producer(4711, 0, 0)
	b.Attributes |= transactionalBit
	_, err := p.produce(b, 1)
	return err
}

func (p *dynamicProbe) forgetsProducers() error {
	if _, err := p.produce(wire.Values("v").Producer(time.Now().UnixNano(), 0, 0), 1); err != nil {
		return err
	}
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: p.topic, Partitions: []int32{0}}}
	return cluster.Until(time.Second, func() error {
		r, err := wire.Ask[*kmsg.DescribeProducersResponse](p.b.Addr(), req, 0)
		if err == nil && len(r.Topics[0].Partitions[0].ActiveProducers) > 0 {
			err = errors.New("a producer is remembered")
		}
		return err
	})
}

// files lists those of the partition with a suffix.
func (p *dynamicProbe) files(suffix string) []string {
	found, _ := filepath.Glob(filepath.Join(p.b.DataDir(), p.topic+"-0", "*"+suffix))
	return found
}

// rolls expects a new segment for each 600 bytes, with small indexes.
func (p *dynamicProbe) rolls() error {
	before := len(p.files(".log"))
	for range 2 {
		if _, err := p.produce(wire.Values(strings.Repeat("v", 600)), 1); err != nil {
			return err
		}
	}
	if after := len(p.files(".log")); after < before+1 {
		return fmt.Errorf("%d segments, %d before", after, before)
	}
	indexes := p.files(".index")
	info, err := os.Stat(indexes[len(indexes)-1])
	if err == nil && info.Size() != 8000 {
		err = fmt.Errorf("index of %d bytes", info.Size())
	}
	return err
}

// preallocates expects that the segment after a roll has its whole size at once.
func (p *dynamicProbe) preallocates() error {
	for range 2 {
		if _, err := p.produce(wire.Values(strings.Repeat("v", 600)), 1); err != nil {
			return err
		}
	}
	segments := p.files(".log")
	info, err := os.Stat(segments[len(segments)-1])
	if err == nil && info.Size() != 1000 {
		err = fmt.Errorf("segment of %d bytes", info.Size())
	}
	return err
}

// indexes expects an entry of 8 bytes for each batch but the first.
func (p *dynamicProbe) indexes() error {
	for range 3 {
		if _, err := p.produce(wire.Values("v"), 1); err != nil {
			return err
		}
	}
	index, err := os.ReadFile(p.files(".index")[0])
	if err == nil && bytes.Equal(index[8:16], make([]byte, 8)) {
		err = errors.New("fewer than two entries")
	}
	return err
}

// deletes expects that old segments go, and their files soon after.
func (p *dynamicProbe) deletes() error {
	for range 3 {
		if _, err := p.produce(wire.Values(strings.Repeat("v", 600)), 1); err != nil {
			return err
		}
	}
	return cluster.Until(2*time.Second, func() error {
		r, err := wire.Ask[*kmsg.ListOffsetsResponse](p.b.Addr(), wire.NewListOffsets(p.topic, 0, -2), 7)
		switch {
		case err != nil:
			return err
		case r.Topics[0].Partitions[0].Offset == 0:
			return errors.New("nothing is deleted")
		case len(p.files(".deleted")) > 0:
			return errors.New("files are left")
		}
		return nil
	})
}

// compacts expects that of several records with one key few are left.
func (p *dynamicProbe) compacts() error {
	for range 4 {
		if _, err := p.produce(wire.Values(strings.Repeat("v", 600)), 1); err != nil {
			return err
		}
	}
	return cluster.Until(time.Second, func() error {
		r, err := p.fetch(0, 11)
		if err != nil {
			return err
		}
		batches, err := wire.Batches(r.RecordBatches)
		if err == nil && batches[0].FirstOffset == 0 {
			err = fmt.Errorf("all %d batches are there", len(batches))
		}
		return err
	})
}
