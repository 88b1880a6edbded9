package replication

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"jackdaw/metadata"
)

// history plays random trouble to three replicas of one partition: cut links, killed and restarted brokers, elections
// that need not be, producers with acks=all and acks=1. Elections are clean.
type history struct {
	t     *testing.T
	c     *cluster
	rnd   *rand.Rand
	sent  int
	acked []*historyAppend
	open  []*historyAppend
}

// historyAppend is one record that was sent with acks=all.
type historyAppend struct {
	value string
	w     *pendingAppend
}

// TestReplication_RandomHistories_KeepWhatWasAcknowledged checks that each record acknowledged with acks=all is in all
// replicas in the end, once, in the order of acknowledgement, and that the replicas are equal byte by byte.
func TestReplication_RandomHistories_KeepWhatWasAcknowledged(t *testing.T) {
	seeds := 30
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { playHistory(t, uint64(seed)) })
	}
}

func playHistory(t *testing.T, seed uint64) {
	bubble(t, 3, nil, func(t *testing.T, c *cluster) {
		c.cfg.MinInsyncReplicas = int32(seed%2) + 1
		h := &history{t: t, c: c, rnd: rand.New(rand.NewPCG(seed, 1))}
		c.delay = func() time.Duration { return time.Duration(rand.IntN(60)) * time.Millisecond }
		c.create(t0, 1, 2, 3)
		settle(time.Second)
		for range 120 {
			h.step()
			settle(h.pause())
			h.collect()
		}
		h.heal()
		h.verify()
	})
}

// pause is short more often than not, so that trouble comes while messages are on their way.
func (h *history) pause() time.Duration {
	if h.rnd.IntN(3) > 0 {
		return time.Duration(h.rnd.IntN(150)) * time.Millisecond
	}
	return time.Duration(h.rnd.IntN(20_000)) * time.Millisecond
}

func (h *history) anyID() metadata.BrokerID { return metadata.BrokerID(h.rnd.IntN(3) + 1) }

func (h *history) step() {
	switch n := h.rnd.IntN(20); {
	case n < 9:
		h.produce(-1)
	case n < 11:
		h.produce(1)
	case n < 13:
		h.c.setCut(h.anyID(), h.anyID(), true)
	case n < 16:
		h.c.setCut(h.anyID(), h.anyID(), false)
	case n < 17:
		h.kill(h.anyID())
	case n < 19:
		h.start(h.anyID())
	default:
		h.move()
	}
}

func (h *history) produce(acks int16) {
	leader := h.c.nodes[h.c.state(t0).Leader]
	if leader == nil || leader.m == nil {
		return
	}
	for range h.rnd.IntN(4) + 1 {
		a := &historyAppend{value: fmt.Sprint(h.sent)}
		h.sent++
		a.w = leader.produce(t0, acks, a.value)
		if acks == -1 {
			h.open = append(h.open, a)
		}
	}
}

// collect moves what has been answered, in the order in which it was sent.
func (h *history) collect() {
	h.open = slices.DeleteFunc(h.open, func(a *historyAppend) bool {
		if !a.w.answered() {
			return false
		}
		if a.w.r[0].Err == nil {
			h.acked = append(h.acked, a)
		}
		return true
	})
}

// kill ends a broker; the controller takes it out of the ISR, unless it is the last, and elects from what is left.
func (h *history) kill(id metadata.BrokerID) {
	if h.c.nodes[id].m == nil {
		return
	}
	h.c.nodes[id].kill()
	s := h.c.state(t0)
	isr := slices.DeleteFunc(slices.Clone(s.ISR), func(x metadata.BrokerID) bool { return x == id })
	if len(isr) == 0 {
		isr = s.ISR
	}
	if s.Leader == id || slices.Contains(s.ISR, id) {
		h.c.elect(t0, h.leaderOf(s.Leader, isr), isr, metadata.Recovered)
	}
}

// leaderOf keeps a live leader, and otherwise elects the first live member of the ISR.
func (h *history) leaderOf(now metadata.BrokerID, isr []metadata.BrokerID) metadata.BrokerID {
	for _, id := range append([]metadata.BrokerID{now}, isr...) {
		if nd := h.c.nodes[id]; nd != nil && nd.m != nil && slices.Contains(isr, id) {
			return id
		}
	}
	return metadata.NoBroker
}

func (h *history) start(id metadata.BrokerID) {
	nd := h.c.nodes[id]
	if nd.m != nil {
		return
	}
	nd.restart()
	if s := h.c.state(t0); s.Leader == metadata.NoBroker && slices.Contains(s.ISR, id) {
		h.c.elect(t0, id, s.ISR, metadata.Recovered)
	}
}

// move elects another member of the ISR, as a preferred election does.
func (h *history) move() {
	s := h.c.state(t0)
	if id := s.ISR[h.rnd.IntN(len(s.ISR))]; h.c.nodes[id].m != nil {
		h.c.elect(t0, id, s.ISR, metadata.Recovered)
	}
}

func (h *history) heal() {
	for a := range metadata.BrokerID(3) {
		for b := range metadata.BrokerID(3) {
			h.c.setCut(a+1, b+1, false)
		}
	}
	for _, id := range h.c.ids() {
		h.start(id)
	}
	settle(2 * time.Minute)
	h.collect()
}

func (h *history) verify() {
	h.t.Helper()
	if got := h.c.state(t0); len(got.ISR) != 3 {
		h.t.Fatalf("isr %v, leader %d after all is well", got.ISR, got.Leader)
	}
	values := h.c.wantSame(t0, 1, 2, 3)
	at := map[string]int{}
	for i, v := range values {
		if _, twice := at[v]; twice {
			h.t.Fatalf("record %s is there twice", v)
		}
		at[v] = i
	}
	last := -1
	for _, a := range h.acked {
		i, ok := at[a.value]
		if !ok {
			h.t.Fatalf("record %s was acknowledged and is lost; %d records, %d acknowledged", a.value, len(values), len(h.acked))
		}
		if first := a.w.r[0].Info.FirstOffset; first != int64(i) {
			h.t.Fatalf("record %s was acknowledged at offset %d and is at %d", a.value, first, i)
		}
		last = max(last, i)
	}
	hw := h.c.nodes[1].partition(t0).Log().HighWatermark()
	if hw != int64(len(values)) || last >= len(values) {
		h.t.Fatalf("hw %d, %d records", hw, len(values))
	}
	if len(h.acked) == 0 {
		h.t.Log("nothing was acknowledged")
	}
}
