//go:build compat

package compat

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// trip is one broker whose data directory changes hands between Apache Kafka and Jackdaw.
type trip struct {
	t *testing.T
	c *cluster.Cluster
	b *cluster.Broker
	// raw is what each topic but the compacted one holds, byte for byte.
	raw map[string][]byte
	// latest has the last value of each key of the compacted topic, committed the values that read_committed shows.
	latest    map[string]string
	committed []string
	// open is a transaction under way, of what will be committed by it; dup a batch whose first copy is at dupOffset.
	open      *kgo.Client
	pending   []string
	dup       []byte
	dupOffset int64
	phase     int
}

// The topics of a trip.
const (
	tripCodecs  = "codecs"  // a batch of each codec, idempotent and not, in small segments
	tripStamped = "stamped" // LogAppendTime
	tripTxn     = "txn"     // committed, aborted and open transactions
	tripCut     = "cut"     // begins inside a batch, by DeleteRecords
	tripCompact = "compact"
	tripGroup   = "trip-group"
)

// A user stops Apache Kafka, starts Jackdaw on the same directories, and goes back later, whether the one before was
// stopped or killed. Every batch stays byte for byte; producers, transactions, groups and offsets go on.
func TestRoundTrip_ApacheAndJackdaw_OneDirectory(t *testing.T) {
	jackdawOnly(t, "it is both")
	config := maps.Clone(compacting)
	maps.Copy(config, map[string]string{
		"log.index.interval.bytes": "256", "offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1",
		"log.flush.start.offset.checkpoint.interval.ms": "200",
	})
	c := cluster.Start(t, cluster.Options{Brokers: 1, Kinds: map[int]cluster.Kind{1: cluster.Apache}, Config: config})
	r := &trip{t: t, c: c, b: c.Broker(1), raw: map[string][]byte{}, latest: map[string]string{}}
	small := []string{"segment.bytes", "3000"}
	createTopic(t, c, tripCodecs, 1, 1, small...)
	createTopic(t, c, tripStamped, 1, 1, "message.timestamp.type", "LogAppendTime")
	createTopic(t, c, tripTxn, 1, 1, small...)
	createTopic(t, c, tripCut, 1, 1, small...)
	createTopic(t, c, tripCompact, 1, 1, compactTopic...)

	r.write()
	r.swap(cluster.Jackdaw, (*cluster.Broker).Stop)
	r.write()
	r.swap(cluster.Apache, func(b *cluster.Broker) error {
		err := b.Stop()
		r.dump()
		return err
	})
	if out := string(r.b.Output()); !strings.Contains(out, "since clean shutdown file was found") || strings.Contains(out, "Recovering unflushed segment") {
		t.Error("Apache Kafka recovers what Jackdaw has closed")
	}
	r.write()
	r.swap(cluster.Jackdaw, (*cluster.Broker).Kill)
	r.write()
	r.swap(cluster.Apache, (*cluster.Broker).Kill)
	if out := string(r.b.Output()); strings.Contains(out, "since clean shutdown file was found") {
		t.Error("a killed Jackdaw left the mark of a clean shutdown")
	}
	r.write()
	r.endTxn()
	r.note()
	r.check()
}

// swap ends the broker one way or the other and starts the other kind on what it left.
func (r *trip) swap(to cluster.Kind, end func(*cluster.Broker) error) {
	r.t.Helper()
	r.note()
	if err := end(r.b); err != nil {
		r.t.Fatal(err)
	}
	if to == cluster.Apache {
		waitGone(r.t, r.c, r.b) // it does not start beside a registration of its own
	}
	if err := r.b.Become(to); err != nil {
		r.t.Fatal(err)
	}
	if err := r.b.Start(); err != nil {
		r.t.Fatalf("%s on the directory of the other: %v", to, err)
	}
	for _, topic := range []string{tripCodecs, tripStamped, tripTxn, tripCut, tripCompact} {
		waitLeaders(r.t, r.c, topic, 1)
	}
	r.checkStartLog(to)
	r.check()
	r.endTxn()
	if p := produceOne(r.t, r.b.Addr(), tripCodecs, 0, -1, slices.Clone(r.dup)); p.ErrorCode != 0 || p.BaseOffset != r.dupOffset {
		r.t.Errorf("%s is sent a batch again that the other has: error %d, offset %d, want %d", to, p.ErrorCode, p.BaseOffset, r.dupOffset)
	}
}

// complaint matches what brokers say about files that they cannot use.
var complaint = regexp.MustCompile(`(?i)corrupt|unable to|rebuilding (index|the)|truncat(ed|ing) (to|log)|error while loading|] (WARN|ERROR|FATAL) .*(log|segment|index|snapshot|checkpoint)`)

// harmless matches warnings of Apache Kafka that have nothing to do with data.
var harmless = regexp.MustCompile(`log4j|No meta.properties|deprecated|Session|AdminZkClient|ZooKeeper|metrics`)

// checkStartLog looks for complaints in what a broker has said since its start.
func (r *trip) checkStartLog(kind cluster.Kind) {
	r.t.Helper()
	for line := range strings.Lines(string(r.b.Output())) {
		if complaint.MatchString(line) && !harmless.MatchString(line) {
			r.t.Errorf("%s complains: %s", kind, line)
		}
	}
}

// write adds to every topic.
func (r *trip) write() {
	r.t.Helper()
	r.phase++
	for _, codec := range codecs {
		for _, opts := range [][]kgo.Opt{nil, {kgo.DisableIdempotentWrite()}} {
			opts = append(opts, kgo.ProducerBatchCompression(franzCodec(codec)), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			cl := client(r.t, r.c, opts...)
			for _, topic := range []string{tripCodecs, tripStamped, tripCut} {
				franzProduce(r.t, cl, topic, 0, series(fmt.Sprintf("%s-%d-%s", topic, r.phase, codec), 10))
			}
		}
	}
	r.cut()
	r.transact()
	r.compact()
	r.dup = wire.Values("once").Producer(7777, 0, int32(r.phase-1)).Encode()
	p := produceOne(r.t, r.b.Addr(), tripCodecs, 0, -1, slices.Clone(r.dup))
	if r.dupOffset = p.BaseOffset; p.ErrorCode != 0 {
		r.t.Fatalf("batch of producer 7777: error %d", p.ErrorCode)
	}
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: tripCodecs, At: r.dupOffset, LeaderEpoch: -1, Metadata: fmt.Sprint("phase ", r.phase)})
	if err := admin(r.t, r.c).CommitAllOffsets(r.t.Context(), tripGroup, offsets); err != nil {
		r.t.Fatalf("commit: %v", err)
	}
}

// cut deletes records up to the middle of a batch.
func (r *trip) cut() {
	r.t.Helper()
	at := endOffset(r.t, r.b.Addr(), tripCut, 0) - 15
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: tripCut, At: at})
	if deleted, err := admin(r.t, r.c).DeleteRecords(r.t.Context(), offsets); err != nil || deleted.Error() != nil {
		r.t.Fatalf("delete records: %v, %v", err, deleted.Error())
	}
	// A log start that is not in the checkpoint does not outlive kill -9, in Kafka neither.
	cluster.Eventually(r.t, 10*time.Second, "checkpoint of the log start", func() error {
		text, err := os.ReadFile(filepath.Join(r.b.DataDir(), "log-start-offset-checkpoint"))
		if line := fmt.Sprintf("%s 0 %d\n", tripCut, at); err == nil && !strings.Contains(string(text), line) {
			err = fmt.Errorf("no line %q in %q", line, text)
		}
		return err
	})
}

// transact commits, aborts, and leaves a transaction open for the other broker to commit.
func (r *trip) transact() {
	r.t.Helper()
	cl := client(r.t, r.c, kgo.TransactionalID(fmt.Sprint("trip-", r.phase)), kgo.DefaultProduceTopic(tripTxn), kgo.TransactionTimeout(5*time.Minute))
	for i, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		values := series(fmt.Sprintf("txn-%d-%d", r.phase, i), 10)
		r.produceIn(cl, values)
		if err := cl.EndTransaction(r.t.Context(), commit); err != nil {
			r.t.Fatalf("end transaction: %v", err)
		}
		if commit == kgo.TryCommit {
			r.committed = append(r.committed, values...)
		}
	}
	r.open, r.pending = cl, series(fmt.Sprintf("txn-%d-open", r.phase), 10)
	r.produceIn(cl, r.pending)
}

// produceIn begins a transaction and produces in it.
func (r *trip) produceIn(cl *kgo.Client, values []string) {
	r.t.Helper()
	if err := cl.BeginTransaction(); err != nil {
		r.t.Fatal(err)
	}
	for _, v := range values {
		if err := cl.ProduceSync(r.t.Context(), kgo.StringRecord(v)).FirstErr(); err != nil {
			r.t.Fatalf("produce in a transaction: %v", err)
		}
	}
}

// endTxn commits the transaction that was begun before the swap.
func (r *trip) endTxn() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	if err := r.open.EndTransaction(ctx, kgo.TryCommit); err != nil {
		r.t.Fatalf("commit of a transaction begun with the other broker: %v", err)
	}
	r.committed = append(r.committed, r.pending...)
	r.raw[tripTxn] = nil // it has a marker more
}

// compact overwrites keys until the cleaner has been at work.
func (r *trip) compact() {
	r.t.Helper()
	maps.Copy(r.latest, overwrite(r.t, client(r.t, r.c), tripCompact, 300))
	awaitCompaction(r.t, r.c, tripCompact, r.latest)
}

// note takes down what the topics hold.
func (r *trip) note() {
	r.t.Helper()
	cluster.Eventually(r.t, time.Minute, "the markers of transactions that are decided", func() error {
		undone, err := admin(r.t, r.c).ListTransactions(r.t.Context(), nil, []string{"PrepareCommit", "PrepareAbort"})
		if err == nil && len(undone) > 0 {
			err = fmt.Errorf("%v", undone)
		}
		return err
	})
	for _, topic := range []string{tripCodecs, tripStamped, tripTxn, tripCut} {
		r.raw[topic] = r.read(topic)
	}
}

// read returns a partition byte for byte, from its start to its end.
func (r *trip) read(topic string) []byte {
	r.t.Helper()
	var raw []byte
	at := int64(0)
	if topic == tripCut {
		at = r.startOffset(topic)
	}
	for end := endOffset(r.t, r.b.Addr(), topic, 0); at < end; {
		p := fetchAt(r.t, r.c, topic, 11, at, 1<<20)
		batches, err := wire.Batches(p.RecordBatches)
		if p.ErrorCode != 0 || err != nil || len(batches) == 0 {
			r.t.Fatalf("%s at %d of %d: error %d, %d batches, %v", topic, at, end, p.ErrorCode, len(batches), err)
		}
		raw = append(raw, p.RecordBatches...)
		last := batches[len(batches)-1]
		at = last.FirstOffset + int64(last.LastOffsetDelta) + 1
	}
	return raw
}

func (r *trip) startOffset(topic string) int64 {
	r.t.Helper()
	offsets, err := admin(r.t, r.c).ListStartOffsets(r.t.Context(), topic)
	if o, ok := offsets.Lookup(topic, 0); err == nil && ok && o.Err == nil {
		return o.Offset
	}
	r.t.Fatalf("start offset of %s: %v", topic, err)
	return 0
}

// check reads everything.
func (r *trip) check() {
	r.t.Helper()
	for topic, want := range r.raw {
		if want == nil {
			continue
		}
		if got := r.read(topic); !bytes.Equal(got, want) {
			r.t.Errorf("phase %d: %s has %d bytes after the change, not the %d before", r.phase, topic, len(got), len(want))
		}
	}
	if start, want := r.startOffset(tripCut), endOffset(r.t, r.b.Addr(), tripCut, 0)-15; start != want {
		r.t.Errorf("phase %d: log start %d, want %d", r.phase, start, want)
	}
	if r.pending != nil {
		got := franzRead(r.t, r.c, tripTxn, len(r.committed), kgo.FetchIsolationLevel(kgo.ReadCommitted()))[0]
		if !slices.Equal(got, r.committed) {
			r.t.Errorf("phase %d: read_committed shows %d records, not the %d that are committed", r.phase, len(got), len(r.committed))
		}
	}
	awaitCompaction(r.t, r.c, tripCompact, r.latest)
	offsets, err := admin(r.t, r.c).FetchOffsets(r.t.Context(), tripGroup)
	if o, ok := offsets.Lookup(tripCodecs, 0); err != nil || !ok || o.At != r.dupOffset || o.Metadata != fmt.Sprint("phase ", r.phase) {
		r.t.Errorf("phase %d: committed offset %+v, %v, want %d", r.phase, o.Offset, err, r.dupOffset)
	}
}

// fault matches what DumpLogSegments says about files that do not fit together.
var fault = regexp.MustCompile(`(?i)mismatch|non-consecutive|isvalid: false|exception|corrupt|out of order|out-of-order|not fully|failed`)

// dump has Apache's tool look at every file.
func (r *trip) dump() {
	r.t.Helper()
	files := map[string][]string{}
	for _, pattern := range []string{"*.log", "*.index", "*.timeindex", "*.txnindex", "*.snapshot"} {
		found, err := filepath.Glob(filepath.Join(r.b.DataDir(), "*", pattern))
		if err != nil || len(found) == 0 {
			r.t.Fatalf("no %s: %v", pattern, err)
		}
		files[pattern] = found
	}
	for _, check := range []struct {
		patterns []string
		option   string
	}{
		{[]string{"*.log"}, "--deep-iteration"},
		{[]string{"*.index", "*.timeindex"}, "--index-sanity-check"},
		{[]string{"*.index", "*.timeindex"}, "--verify-index-only"},
		{[]string{"*.txnindex", "*.snapshot"}, "--print-data-log"},
	} {
		var list []string
		for _, p := range check.patterns {
			list = append(list, files[p]...)
		}
		out, err := cluster.Tool("", "kafka.tools.DumpLogSegments", check.option, "--files", strings.Join(list, ","))
		if err != nil {
			r.t.Errorf("DumpLogSegments %s: %v\n%.2000s", check.option, err, out)
		}
		r.judge(check.option, out)
	}
}

// judge looks for faults in the output of DumpLogSegments. Of compacted topics it always says that offsets are missing.
func (r *trip) judge(option, out string) {
	r.t.Helper()
	file := ""
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(line, "Dumping "); ok {
			file = strings.TrimSpace(name)
		}
		if _, name, ok := strings.Cut(line, " in :"); ok {
			file = strings.TrimSpace(name)
		}
		if !fault.MatchString(line) {
			continue
		}
		if strings.Contains(file, tripCompact+"-0") && strings.Contains(line, "on-consecutive") {
			continue
		}
		r.t.Errorf("DumpLogSegments %s on %s: %s", option, file, line)
	}
	if dir := os.Getenv("COMPAT_LOGS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "dump"+option+".txt"), []byte(out), 0o644); err != nil {
			r.t.Log(err)
		}
	}
}
