package isr

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"jackdaw/metadata"
)

// TestCore_Traces runs testdata/traces: broker 1 with a lag time of 30 s. The commands are
//
//	leader | follower  epoch= pepoch= isr= [replicas=] [adding=] [leo= hw=] [leader=] [min=] [at=]
//	append leo= [at=]          fetch replica= offset= [start=] [bepoch=] [dead] [at=]
//	tick [at=]                 done seq= outcome= [isr= epoch= pepoch=] [at=]
//	observed isr= pepoch= ...  alive id= [dead] [bepoch=]
//	min n=                     stop
//	reached offset=            low start=
//	truncate leader=e:o [local=e:o] leo= [hw=]
//	diverged end=e:o last= offset=
//	reset leo= end= start=
func TestCore_Traces(t *testing.T) {
	datadriven.Walk(t, "testdata/traces", func(t *testing.T, path string) {
		h := &traceHarness{t: t, core: New(1, 30*time.Second)}
		datadriven.RunTest(t, path, h.run)
	})
}

type traceHarness struct {
	t    *testing.T
	core *Core
	d    *datadriven.TestData
}

func (h *traceHarness) run(t *testing.T, d *datadriven.TestData) string {
	h.t, h.d = t, d
	c := h.core
	switch d.Cmd {
	case "leader":
		h.setMin()
		e, ok := c.BecomeLeader(h.state(1), h.num("leo", 0), h.num("hw", 0), h.at())
		if !ok {
			return "skipped\n"
		}
		return h.effects(e)
	case "follower":
		newEpoch, ok := c.BecomeFollower(h.state(2))
		return fmt.Sprintf("applied=%v refetch=%v\n", ok, newEpoch)
	case "stop":
		c.Stop()
		return ""
	case "min":
		c.SetMinInsync(int(h.num("n", 1)))
		return ""
	case "append":
		return h.effects(c.LocalAppended(h.num("leo", 0), h.at()))
	case "alive":
		c.SetAlive(metadata.BrokerID(h.num("id", 0)), !d.HasArg("dead"), h.num("bepoch", -1))
		return ""
	case "tick":
		return h.effects(c.Tick(h.at()))
	case "fetch", "done", "observed":
		return h.answer()
	default:
		return h.query()
	}
}

func (h *traceHarness) answer() string {
	c := h.core
	switch h.d.Cmd {
	case "fetch":
		e, v := c.FollowerFetched(Fetch{
			Replica: metadata.BrokerID(h.num("replica", 0)), Offset: h.num("offset", 0), LogStart: h.num("start", 0),
			BrokerEpoch: h.num("bepoch", -1), Alive: !h.d.HasArg("dead"),
		}, h.at())
		if v != Counted {
			return [...]string{"", "not assigned", "former life", "not leader"}[v] + "\n"
		}
		return h.effects(e)
	case "done":
		var s string
		h.d.ScanArgs(h.t, "outcome", &s)
		out := map[string]Outcome{"accepted": Accepted, "refused": Refused, "stale": Stale, "unclear": Unclear}[s]
		return h.effects(c.ProposalDone(uint64(h.num("seq", 0)), out, h.state(1).LeaderAndISR, h.at()))
	default:
		return h.effects(c.Observed(h.state(1).LeaderAndISR, h.at()))
	}
}

func (h *traceHarness) query() string {
	switch h.d.Cmd {
	case "reached":
		done, enough := h.core.Reached(h.num("offset", 0))
		return fmt.Sprintf("committed=%v enough=%v\n", done, enough)
	case "low":
		return fmt.Sprintf("low=%d\n", h.core.LowWatermark(h.num("start", 0)))
	case "truncate":
		local, known := h.epochEnd("local")
		leader, _ := h.epochEnd("leader")
		tr := Truncate(leader, local, known, h.num("leo", 0), h.num("hw", 0))
		return fmt.Sprintf("to=%d done=%v\n", tr.Offset, tr.Done)
	case "diverged":
		end, _ := h.epochEnd("end")
		return fmt.Sprintf("%v\n", Diverged(end, metadata.LeaderEpoch(h.num("last", 0)), h.num("offset", 0)))
	case "reset":
		return fmt.Sprintf("%+v\n", OutOfRange(h.num("leo", 0), h.num("end", 0), h.num("start", 0)))
	default:
		h.t.Fatalf("unknown command %s", h.d.Cmd)
		return ""
	}
}

// effects prints what the shell would have to do and where the partition stands.
func (h *traceHarness) effects(e Effects) string {
	var b strings.Builder
	c := h.core
	fmt.Fprintf(&b, "hw=%d", e.HW)
	if e.HWMoved {
		b.WriteString(" moved")
	}
	if e.NewEpoch {
		fmt.Fprintf(&b, " epoch-start=%d", e.EpochStart)
	}
	if e.Joined+e.Left > 0 {
		fmt.Fprintf(&b, " joined=%d left=%d", e.Joined, e.Left)
	}
	if c.UnderMinISR() {
		b.WriteString(" under-min-isr")
	}
	b.WriteString("\n")
	if p := e.Propose; p != nil {
		fmt.Fprintf(&b, "propose seq=%d isr=%s version=%d\n", p.Seq, ids(p.ISR), p.PartitionEpoch)
	}
	return b.String()
}

func ids(list []metadata.BrokerID) string {
	var s []string
	for _, id := range list {
		s = append(s, strconv.Itoa(int(id)))
	}
	return strings.Join(s, ",")
}

func (h *traceHarness) setMin() {
	if h.d.HasArg("min") {
		h.core.SetMinInsync(int(h.num("min", 1)))
	}
}

func (h *traceHarness) num(key string, def int64) int64 {
	if !h.d.HasArg(key) {
		return def
	}
	var s string
	h.d.ScanArgs(h.t, key, &s)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

func (h *traceHarness) list(key string) []metadata.BrokerID {
	var out []metadata.BrokerID
	for _, a := range h.d.CmdArgs {
		if a.Key != key {
			continue
		}
		for _, v := range a.Vals {
			for _, s := range strings.Split(v, ",") {
				n, err := strconv.Atoi(s)
				if err != nil {
					h.t.Fatal(err)
				}
				out = append(out, metadata.BrokerID(n))
			}
		}
	}
	return out
}

func (h *traceHarness) at() time.Time {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if !h.d.HasArg("at") {
		return base
	}
	var s string
	h.d.ScanArgs(h.t, "at", &s)
	d, err := time.ParseDuration(s)
	if err != nil {
		h.t.Fatal(err)
	}
	return base.Add(d)
}

func (h *traceHarness) state(leader int64) State {
	s := State{Replicas: []metadata.BrokerID{1, 2, 3}, Adding: h.list("adding")}
	if h.d.HasArg("replicas") {
		s.Replicas = h.list("replicas")
	}
	s.Leader = metadata.BrokerID(h.num("leader", leader))
	s.LeaderEpoch = metadata.LeaderEpoch(h.num("epoch", int64(h.core.LeaderEpoch())))
	s.PartitionEpoch = int32(h.num("pepoch", 0))
	s.ISR = h.list("isr")
	return s
}

func (h *traceHarness) epochEnd(key string) (EpochEnd, bool) {
	if !h.d.HasArg(key) {
		return EpochEnd{}, false
	}
	var s string
	h.d.ScanArgs(h.t, key, &s)
	e, o, _ := strings.Cut(s, ":")
	epoch, err1 := strconv.Atoi(e)
	off, err2 := strconv.ParseInt(o, 10, 64)
	if err1 != nil || err2 != nil {
		h.t.Fatalf("%s=%s: want epoch:offset", key, s)
	}
	return EpochEnd{metadata.LeaderEpoch(epoch), off}, true
}
