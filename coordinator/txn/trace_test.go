package txn

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/shardtest"
	"jackdaw/metadata"
)

// TestShard_Traces runs the scenarios of testdata: one request or step a block, and below it what was written, answered and
// asked for. #N is the N-th request; fresh producer ids count from 1000.
func TestShard_Traces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			h := newHarness()
			datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				h.run(args{t, d})
				out := h.out.String()
				h.out.Reset()
				return out
			})
		})
	}
}

// harness is a shard with a log that never fails unless told to, and a clock that stands still.
type harness struct {
	shardtest.Driver[*Shard]
	cfg     Config
	epoch   metadata.LeaderEpoch
	ticket  coordinator.Ticket
	fresh   int64
	markers []Markers
	reject  error // of the next append
	out     strings.Builder
}

func newHarness() *harness {
	h := &harness{cfg: DefaultConfig(), fresh: 1000, epoch: 7}
	h.Shard, h.Now = NewShard(h.cfg, h.epoch), time.UnixMilli(1_000_000)
	h.Refuse = func() error {
		err := h.reject
		if h.reject = nil; err != nil {
			h.printf("refused")
		}
		return err
	}
	h.Wrote = func(at int64, _ coordinator.Write, r coordinator.Record) {
		h.printf("write %d: %s", at, recordString(r))
	}
	h.Replied = func(r coordinator.Reply) { h.printf("#%d %s", r.To, replyString(r.Body)) }
	h.Skipped = func(_ int64, err error) { h.printf("skipped: %v", err) }
	h.Asked = func(request any) {
		m := request.(Markers)
		h.markers = append(h.markers, m)
		h.printf("markers %s producer=%d/%d commit=%v epoch=%d %v", m.TransactionalID, m.ProducerID, m.ProducerEpoch,
			m.Commit, m.CoordinatorEpoch, m.Partitions)
	}
	h.Start()
	return h
}

func (h *harness) printf(format string, a ...any) { fmt.Fprintf(&h.out, format+"\n", a...) }

type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a args) str(key, def string) string {
	for _, c := range a.d.CmdArgs {
		if c.Key == key {
			return strings.Join(c.Vals, ",")
		}
	}
	return def
}

func (a args) num(key string, def int64) int64 {
	n, err := strconv.ParseInt(a.str(key, strconv.FormatInt(def, 10)), 10, 64)
	if err != nil {
		a.t.Fatalf("%s: %v", a.d.Pos, err)
	}
	return n
}

func (a args) dur(key string, def time.Duration) time.Duration {
	d, err := time.ParseDuration(a.str(key, def.String()))
	if err != nil {
		a.t.Fatalf("%s: %v", a.d.Pos, err)
	}
	return d
}

func (a args) producer() Producer {
	return Producer{a.num("producer", 1000), int16(a.num("epoch", 0))}
}

func (a args) tps() []metadata.TopicPartition {
	var out []metadata.TopicPartition
	for _, s := range strings.Split(a.str("tps", "t-0"), ",") {
		i := strings.LastIndexByte(s, '-')
		n, _ := strconv.Atoi(s[i+1:])
		out = append(out, metadata.TopicPartition{Topic: s[:i], Partition: int32(n)})
	}
	return out
}

func (h *harness) run(a args) {
	if h.step(a) {
		return
	}
	h.ticket++
	n, id := h.ticket, a.str("id", "x")
	switch a.d.Cmd {
	case "init":
		h.init(n, a)
	case "add":
		h.Do(h.Shard.AddPartitions(h.Now, n, id, a.producer(), a.tps()))
	case "verify":
		h.Do(h.Shard.VerifyPartitions(h.Now, n, id, a.producer(), a.tps()))
	case "end":
		h.Do(h.Shard.EndTxn(h.Now, n, id, a.producer(), a.d.HasArg("commit")))
	case "describe":
		h.Do(h.Shard.Describe(h.Now, n, id))
	case "list":
		f := Filter{OpenFor: a.dur("open-for", -1)}
		if st, ok := ParseState(a.str("state", "")); ok {
			f.States = []State{st}
		}
		if p := a.num("producer", -1); p >= 0 {
			f.ProducerIDs = []int64{p}
		}
		h.Do(h.Shard.List(h.Now, n, f))
	default:
		a.t.Fatalf("%s: unknown command %q", a.d.Pos, a.d.Cmd)
	}
}

// init does as the service does: with a fresh id only if it is asked for.
func (h *harness) init(n coordinator.Ticket, a args) {
	r := InitRequest{ID: a.str("id", "x"), Timeout: a.dur("timeout", time.Minute), FreshID: noProducerID}
	if a.d.HasArg("producer") {
		p := a.producer()
		r.Expected = &p
	}
	e := h.Shard.InitProducerID(h.Now, n, r)
	if len(e.Replies) == 1 && e.Replies[0].Body.(InitResult).NeedsID {
		r.FreshID = h.fresh
		h.fresh++
		e = h.Shard.InitProducerID(h.Now, n, r)
	}
	h.Do(e)
}

func (h *harness) step(a args) bool {
	switch a.d.Cmd {
	case "config":
		h.cfg.IDExpiration = a.dur("expiration", h.cfg.IDExpiration)
		h.cfg.MaxTimeout = a.dur("max-timeout", h.cfg.MaxTimeout)
		h.Shard.cfg = h.cfg
	case "advance":
		h.Advance(a.dur("by", 0))
	case "hold":
		h.Hold = true
	case "release":
		h.Release()
	case "late":
		h.Late(kerr.RequestTimedOut)
	case "reject":
		h.reject = kerr.NotEnoughReplicas
	case "markers-written":
		ms := h.markers
		if a.d.HasArg("first") {
			ms = ms[:1]
		} else if !a.d.HasArg("keep") {
			h.markers = nil
		}
		for _, m := range ms {
			tps := m.Partitions
			if a.d.HasArg("tps") {
				tps = a.tps()
			}
			h.Do(h.Shard.MarkersWritten(h.Now, m, tps))
		}
	case "epoch": // as if the epochs up to this one had been handed out
		h.Shard.ids[a.str("id", "x")].epoch = int16(a.num("to", 0))
	case "reload":
		h.epoch++
		h.markers = nil
		h.Reload(NewShard(h.cfg, h.epoch))
	default:
		return false
	}
	return true
}

func errString(err error) string {
	var ke *kerr.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &ke):
		return ke.Message
	default:
		return err.Error()
	}
}

func replyString(body any) string {
	switch r := body.(type) {
	case InitResult:
		if r.Err != nil {
			return errString(r.Err)
		}
		return fmt.Sprintf("producer=%d/%d", r.ProducerID, r.Epoch)
	case Result:
		return errString(r.Err)
	case []error:
		var parts []string
		for _, err := range r {
			parts = append(parts, errString(err))
		}
		return strings.Join(parts, " ")
	case Description:
		if r.Err != nil {
			return errString(r.Err)
		}
		return fmt.Sprintf("%s producer=%d/%d timeout=%v start=%d %v", r.State, r.Producer.ID, r.Producer.Epoch, r.Timeout, r.Start, r.Partitions)
	case []Listing:
		return fmt.Sprintf("%v", r)
	default:
		return fmt.Sprintf("%T", body)
	}
}

func recordString(r coordinator.Record) string {
	var k kmsg.TxnMetadataKey
	if err := k.ReadFrom(r.Key); err != nil {
		return err.Error()
	}
	if r.Value == nil {
		return k.TransactionalID + " tombstone"
	}
	var v kmsg.TxnMetadataValue
	if err := v.ReadFrom(r.Value); err != nil {
		return err.Error()
	}
	s := fmt.Sprintf("%s %v producer=%d/%d", k.TransactionalID, State(v.State), v.ProducerID, v.ProducerEpoch)
	for _, t := range v.Topics {
		s += fmt.Sprintf(" %s%v", t.Topic, t.Partitions)
	}
	return s
}
