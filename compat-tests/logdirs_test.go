//go:build compat

package compat

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// twoDirs gives each broker two log directories, and copies between them in small pieces.
var twoDirs = map[string]string{
	"log.dirs": "{dir}/data,{dir}/data2", "replica.fetch.max.bytes": "16384", "replica.fetch.backoff.ms": "200",
	"offsets.topic.num.partitions": "1", "log.flush.offset.checkpoint.interval.ms": "500",
}

func dirOf(b *cluster.Broker, name string) string { return filepath.Join(b.Dir, name) }

// replicaIn is a replica as DescribeLogDirs shows it.
type replicaIn struct {
	dir    string // the last element
	future bool
	lag    int64
	size   int64
}

// replicasOn asks a broker where it has a partition.
func replicasOn(t *testing.T, b *cluster.Broker, topic string, partition int32) (out []replicaIn) {
	t.Helper()
	r := ask[*kmsg.DescribeLogDirsResponse](t, b.Addr(), kmsg.NewPtrDescribeLogDirsRequest(), 4)
	for _, d := range r.Dirs {
		for _, tp := range d.Topics {
			for _, p := range tp.Partitions {
				if tp.Topic == topic && p.Partition == partition {
					out = append(out, replicaIn{filepath.Base(d.Dir), p.IsFuture, p.OffsetLag, p.Size})
				}
			}
		}
	}
	slices.SortFunc(out, func(x, y replicaIn) int { return strings.Compare(x.dir, y.dir) })
	return out
}

// dirNow returns where the replica is.
func dirNow(t *testing.T, b *cluster.Broker, topic string, partition int32) string {
	t.Helper()
	for _, r := range replicasOn(t, b, topic, partition) {
		if !r.future {
			return r.dir
		}
	}
	t.Fatalf("broker %d has no replica of %s-%d", b.ID, topic, partition)
	return ""
}

// other is the directory where it is not.
func other(dir string) string {
	if dir == "data" {
		return "data2"
	}
	return "data"
}

// waitMoved waits until a replica is in a directory, and the disk shows it.
func waitMoved(t *testing.T, b *cluster.Broker, topic string, partition int32, dir string) {
	t.Helper()
	name := fmt.Sprintf("%s-%d", topic, partition)
	cluster.Eventually(t, 60*time.Second, "the end of the move of "+name, func() error {
		got := replicasOn(t, b, topic, partition)
		if len(got) != 1 || got[0].dir != dir || got[0].future || got[0].lag != 0 {
			return fmt.Errorf("%+v, want it in %s", got, dir)
		}
		if _, err := os.Stat(filepath.Join(dirOf(b, other(dir)), name)); err == nil {
			return fmt.Errorf("it is still in %s", other(dir)) // which goes a moment later
		}
		return nil
	})
	if _, err := os.Stat(filepath.Join(dirOf(b, dir), name)); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(b.Dir, "data*", name+".*-future")); err != nil || len(left) > 0 {
		t.Errorf("future logs are left: %v, %v", left, err)
	}
}

// alterDir asks a broker to move one replica.
func alterDir(t *testing.T, b *cluster.Broker, dir, topic string, partition int32) int16 {
	t.Helper()
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	req.Dirs = []kmsg.AlterReplicaLogDirsRequestDir{{Dir: dir, Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{
		Topic: topic, Partitions: []int32{partition},
	}}}}
	r := ask[*kmsg.AlterReplicaLogDirsResponse](t, b.Addr(), req, 2)
	if len(r.Topics) != 1 || r.Topics[0].Topic != topic || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != partition {
		t.Fatalf("answer %+v", r.Topics)
	}
	return r.Topics[0].Partitions[0].ErrorCode
}

// setMoveRate limits the copying between directories, on all brokers; 0 takes the limit away.
func setMoveRate(t *testing.T, c *cluster.Cluster, rate int64) {
	t.Helper()
	cfg := kadm.AlterConfig{Op: kadm.DeleteConfig, Name: "replica.alter.log.dirs.io.max.bytes.per.second"}
	if rate > 0 {
		cfg.Op, cfg.Value = kadm.SetConfig, kadm.StringPtr(strconv.FormatInt(rate, 10))
	}
	adm := admin(t, c)
	for _, b := range c.Brokers {
		if !b.Running() {
			continue
		}
		r, err := adm.AlterBrokerConfigs(t.Context(), []kadm.AlterConfig{cfg}, int32(b.ID))
		if err == nil && len(r) == 1 {
			err = r[0].Err
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// holdMoves lets moves copy next to nothing, and starts the broker again, which has that in force then: a change that is on its way
// through ZooKeeper may come after a whole copy.
func holdMoves(t *testing.T, c *cluster.Cluster, b *cluster.Broker, topic string) {
	t.Helper()
	setMoveRate(t, c, 1)
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, c, b)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, topic, 1)
}

// The whole of a move as an operator makes it, with Apache's tools, while a producer with acks=all and a consumer go on, and the
// leader is killed in the middle.
func TestLogDirs_MovedUnderLoadAndKilled_NothingLost(t *testing.T) {
	const total, before = 60_000, 40_000
	c := cluster.Start(t, cluster.Options{Brokers: 2, Config: twoDirs})
	topic := topicName(t)
	createAssigned(t, c, topic, []string{"segment.bytes", "100000"}, []int32{1, 2}, []int32{2, 1})
	cl := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.MaxBufferedRecords(5000),
		kgo.ProducerBatchMaxBytes(8<<10), kgo.RetryTimeout(90*time.Second), kgo.RequestRetries(1000))
	l := startLoad(t, cl, topic, 2, total)
	l.allowed.Store(before)
	l.waitAcked(t, before, 60*time.Second)
	read := follow(t, c, topic, total)

	var parts []string
	to := map[int]string{}
	for _, b := range c.Brokers {
		to[b.ID] = other(dirNow(t, b, topic, 0))
	}
	for p := range 2 {
		ids := []int{1 + p, 2 - p}
		parts = append(parts, fmt.Sprintf(`{"topic":%q,"partition":%d,"replicas":[%d,%d],"log_dirs":[%q,%q]}`,
			topic, p, ids[0], ids[1], dirOf(c.Broker(ids[0]), to[ids[0]]), dirOf(c.Broker(ids[1]), to[ids[1]])))
	}
	file := filepath.Join(t.TempDir(), "move.json")
	if err := os.WriteFile(file, []byte(`{"version":1,"partitions":[`+strings.Join(parts, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tool := func(name string, args ...string) toolRun { return toolRun{tool: name, args: args} }
	run := func(r toolRun, want ...string) {
		t.Helper()
		r.want = want
		runTool(t, c, r)
		l.allowed.Add(500)
	}
	run(tool("reassign-partitions", "--execute", "--reassignment-json-file", file, "--replica-alter-log-dirs-throttle", "1"),
		`Successfully started moving log directory to \S+ for replica `+topic+`-0 with broker 1`,
		`Successfully started moving log directory to \S+ for replica `+topic+`-1 with broker 2`)
	run(tool("log-dirs", "--describe", "--topic-list", topic), `"partition":"`+topic+`-[01]","size":\d+,"offsetLag":[1-9]\d*,"isFuture":true`,
		`"partition":"`+topic+`-0","size":[1-9]\d*,"offsetLag":\d+,"isFuture":false`)
	run(tool("reassign-partitions", "--verify", "--reassignment-json-file", file), `Reassignment of replica `+topic+`-[01]-1 is still in progress`)

	b := c.Broker(1)
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	l.allowed.Add(1000)
	if futures, err := filepath.Glob(filepath.Join(b.Dir, "data*", topic+"-*-future")); err != nil || len(futures) == 0 {
		t.Errorf("no future log under the killed broker: %v", err)
	}
	waitGone(t, c, b)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	setMoveRate(t, c, 2_000_000)
	moved := func(id int, p int32) bool {
		l.allowed.Add(100)
		got := replicasOn(t, c.Broker(id), topic, p)
		return len(got) == 1 && got[0].dir == to[id]
	}
	cluster.Eventually(t, 60*time.Second, "all replicas in their new directories", func() error {
		for p := range int32(2) {
			if !moved(1, p) || !moved(2, p) {
				return fmt.Errorf("partition %d: %+v, %+v", p, replicasOn(t, c.Broker(1), topic, p), replicasOn(t, c.Broker(2), topic, p))
			}
		}
		return nil
	})
	l.allowed.Store(total)
	run(tool("reassign-partitions", "--verify", "--reassignment-json-file", file), `Reassignment of replica `+topic+`-0-1 completed successfully`,
		`Clearing broker-level throttles on brokers 1,2`)
	l.waitAcked(t, total, 90*time.Second)
	l.checkContents(t, c, total)
	var consumed map[int32][]string
	select {
	case consumed = <-read:
	case <-time.After(60 * time.Second):
		t.Fatal("the consumer does not get all")
	}
	for p, values := range consumed {
		for i, v := range values {
			if v != strconv.Itoa(2*i+int(p)) {
				t.Fatalf("the consumer gets %s as record %d of partition %d", v, i, p)
			}
		}
	}
	for p := range 2 {
		waitISR(t, c, topic, p, 60*time.Second, 1, 2)
		for _, b := range c.Brokers {
			waitMoved(t, b, topic, int32(p), to[b.ID])
		}
		checkReplicasEqual(t, c, topic, p)
	}
}

// follow consumes n records of a topic from its start, as long as it takes, and gives the values by partition.
func follow(t *testing.T, c *cluster.Cluster, topic string, n int) <-chan map[int32][]string {
	t.Helper()
	cl := client(t, c, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	out := make(chan map[int32][]string, 1)
	go func() {
		got := map[int32][]string{}
		for count := 0; count < n; {
			fetches := cl.PollFetches(t.Context())
			if fetches.IsClientClosed() || t.Context().Err() != nil {
				return
			}
			fetches.EachRecord(func(r *kgo.Record) {
				got[r.Partition] = append(got[r.Partition], string(r.Value))
				count++
			})
		}
		out <- got
	}()
	return out
}

// What is answered, and what happens to wishes and to moves that are given up.
func TestLogDirs_AlterReplicaLogDirs_AnswersAndWishes(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: twoDirs})
	b := c.Broker(1)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	first := dirNow(t, b, topic, 0)
	for _, tc := range []struct {
		name      string
		dir       string
		topic     string
		partition int32
		want      int16
	}{
		{"not in log.dirs", b.Dir + "/data3", topic, 0, kerr.LogDirNotFound.Code},
		{"relative", "data", topic, 0, kerr.LogDirNotFound.Code},
		{"where it is", dirOf(b, first), topic, 0, 0},
		{"unknown topic", dirOf(b, "data"), "unknown", 0, kerr.UnknownTopicOrPartition.Code},
		{"unknown partition", dirOf(b, "data"), topic, 7, kerr.UnknownTopicOrPartition.Code},
		{"long name", dirOf(b, "data"), strings.Repeat("t", 214), 0, kerr.InvalidTopicException.Code},
	} {
		if got := alterDir(t, b, tc.dir, tc.topic, tc.partition); got != tc.want {
			t.Errorf("%s: error %d, want %d", tc.name, got, tc.want)
		}
	}
	checkWishes(t, c, b)
	checkGivenUp(t, c, b)
	checkMovedStates(t, c, b)
}

// checkWishes: a partition that does not exist is made in the directory that was asked for.
func checkWishes(t *testing.T, c *cluster.Cluster, b *cluster.Broker) {
	for i := range 3 {
		name := fmt.Sprint("wish-", i)
		for _, p := range []int32{0, 1, 2} {
			if got := alterDir(t, b, dirOf(b, "data2"), name, p); got != kerr.UnknownTopicOrPartition.Code {
				t.Errorf("error %d", got)
			}
		}
		createTopic(t, c, name, 3, 1)
		for p := range int32(3) {
			if got := dirNow(t, b, name, p); got != "data2" {
				t.Errorf("%s-%d is in %s, want data2", name, p, got)
			}
		}
	}
}

// checkGivenUp: a move ends when the present directory is asked for.
func checkGivenUp(t *testing.T, c *cluster.Cluster, b *cluster.Broker) {
	name := "given-up"
	createTopic(t, c, name, 1, 1)
	for i := range 20 {
		mustProduce(t, b.Addr(), name, 0, -1, wire.Values(fmt.Sprint(i, strings.Repeat("x", 10_000))))
	}
	holdMoves(t, c, b, name)
	at := dirNow(t, b, name, 0)
	if code := alterDir(t, b, dirOf(b, other(at)), name, 0); code != 0 {
		t.Fatalf("error %d", code)
	}
	cluster.Eventually(t, 20*time.Second, "a part of the copy", func() error {
		got := replicasOn(t, b, name, 0)
		i := slices.IndexFunc(got, func(r replicaIn) bool { return r.future })
		if i < 0 || got[i].size == 0 || got[i].lag <= 0 || got[i].lag >= 20 || len(got) != 2 {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	if names, err := filepath.Glob(filepath.Join(dirOf(b, other(at)), name+"-0.*")); err != nil || len(names) != 1 ||
		!regexp.MustCompile(`/given-up-0\.[0-9a-f]{32}-future$`).MatchString(names[0]) {
		t.Errorf("the copy is in %q, %v", names, err)
	}
	if code := alterDir(t, b, dirOf(b, at), name, 0); code != 0 {
		t.Fatalf("error %d", code)
	}
	waitMoved(t, b, name, 0, at)
	setMoveRate(t, c, 0)
}

// checkMovedStates: what a log knows besides its records moves along.
func checkMovedStates(t *testing.T, c *cluster.Cluster, b *cluster.Broker) {
	name := "states"
	createTopic(t, c, name, 1, 1, "segment.bytes", "20000")
	batch := func(seq int32) []byte {
		return wire.Values(strings.Repeat("y", 5000)).With(func(b *wire.Batch) {
			b.ProducerID, b.ProducerEpoch, b.FirstSequence, b.FirstTimestamp = 4000, 0, seq, 1_700_000_000_000
		}).Encode()
	}
	for seq := range int32(12) {
		if p := produceOne(t, b.Addr(), name, 0, -1, batch(seq)); p.ErrorCode != 0 {
			t.Fatalf("error %d", p.ErrorCode)
		}
	}
	adm := admin(t, c)
	if _, err := adm.DeleteRecords(t.Context(), kadm.Offsets{name: {0: {Topic: name, Partition: 0, At: 5}}}); err != nil {
		t.Fatal(err)
	}
	before := rawFrom(t, b, name, 5)
	at := dirNow(t, b, name, 0)
	for _, dir := range []string{other(at), at} {
		if code := alterDir(t, b, dirOf(b, dir), name, 0); code != 0 {
			t.Fatalf("error %d", code)
		}
		waitMoved(t, b, name, 0, dir)
		if p := produceOne(t, b.Addr(), name, 0, -1, batch(11)); p.ErrorCode != 0 || p.BaseOffset != 11 {
			t.Errorf("a duplicate after the move: error %d, offset %d", p.ErrorCode, p.BaseOffset)
		}
		if p := produceOne(t, b.Addr(), name, 0, -1, batch(40)); p.ErrorCode != kerr.OutOfOrderSequenceNumber.Code {
			t.Errorf("a gap after the move: error %d", p.ErrorCode)
		}
		if got := rawFrom(t, b, name, 5); got != before {
			t.Error("the records have changed")
		}
		starts, err := adm.ListStartOffsets(t.Context(), name)
		if o, ok := starts.Lookup(name, 0); err != nil || !ok || o.Offset != 5 {
			t.Errorf("log start %+v, %v", o, err)
		}
	}
}

// rawFrom reads a partition byte for byte.
func rawFrom(t *testing.T, b *cluster.Broker, topic string, offset int64) string {
	t.Helper()
	var out strings.Builder
	for end := endOffset(t, b.Addr(), topic, 0); offset < end; {
		r := ask[*kmsg.FetchResponse](t, b.Addr(), wire.NewFetch(wire.Position{Topic: topic, Offset: offset, MaxBytes: 1 << 20}), 11)
		p := r.Topics[0].Partitions[0]
		if p.ErrorCode != 0 || len(p.RecordBatches) == 0 {
			t.Fatalf("fetch at %d: error %d, %d bytes", offset, p.ErrorCode, len(p.RecordBatches))
		}
		out.Write(p.RecordBatches)
		for raw := p.RecordBatches; len(raw) > 0; {
			offset++ // one record in each batch
			raw = raw[12+binary.BigEndian.Uint32(raw[8:]):]
		}
	}
	return out.String()
}

// Either broker goes on with a copy that the other has begun.
func TestLogDirs_FutureLogOfTheOther_IsFinished(t *testing.T) {
	jackdawOnly(t, "it is both")
	for _, from := range []cluster.Kind{cluster.Jackdaw, cluster.Apache} {
		to := cluster.Apache
		if from == cluster.Apache {
			to = cluster.Jackdaw
		}
		t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
			c := cluster.Start(t, cluster.Options{Brokers: 1, Kinds: map[int]cluster.Kind{1: from}, Config: twoDirs})
			b := c.Broker(1)
			topic := "passed"
			createTopic(t, c, topic, 1, 1, "segment.bytes", "50000")
			for i := range 30 {
				mustProduce(t, b.Addr(), topic, 0, -1, wire.Values(fmt.Sprint(i, strings.Repeat("x", 8000))))
			}
			holdMoves(t, c, b, topic)
			at := dirNow(t, b, topic, 0)
			if code := alterDir(t, b, dirOf(b, other(at)), topic, 0); code != 0 {
				t.Fatalf("error %d", code)
			}
			cluster.Eventually(t, 20*time.Second, "a part of the copy", func() error {
				got := replicasOn(t, b, topic, 0)
				if len(got) != 2 || got[0].size == 0 || got[1].size == 0 {
					return fmt.Errorf("%+v", got)
				}
				return nil
			})
			if err := b.Kill(); err != nil {
				t.Fatal(err)
			}
			waitGone(t, c, b)
			if err := b.Become(to); err != nil {
				t.Fatal(err)
			}
			if err := b.Start(); err != nil {
				t.Fatal(err)
			}
			waitLeaders(t, c, topic, 1)
			setMoveRate(t, c, 0)
			waitMoved(t, b, topic, 0, other(at))
			mustProduce(t, b.Addr(), topic, 0, -1, wire.Values("after"))
			got := franzRead(t, c, topic, 31)[0]
			for i, v := range got[:30] {
				if !strings.HasPrefix(v, fmt.Sprint(i, "xxx")) {
					t.Fatalf("record %d is %.10q", i, v)
				}
			}
		})
	}
}
