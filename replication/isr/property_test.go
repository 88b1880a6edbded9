package isr

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"jackdaw/metadata"
)

// leaderModel drives a leader of replicas 1, 2, 3 against a controller that holds the committed state and followers
// with logs of known length.
type leaderModel struct {
	core    *Core
	now     time.Time
	leo     int64
	logs    map[metadata.BrokerID]int64
	min     int
	written metadata.LeaderAndISR // what the controller has
	out     []*Proposal           // proposals under way
	hw      int64
}

func newLeaderModel() *leaderModel {
	m := &leaderModel{
		core: New(1, 30*time.Second), now: time.Unix(1000, 0), leo: 10, min: 2, hw: 5,
		logs: map[metadata.BrokerID]int64{2: 8, 3: 5},
	}
	m.core.SetMinInsync(m.min)
	m.written = metadata.LeaderAndISR{Leader: 1, LeaderEpoch: 1, ISR: []metadata.BrokerID{1, 2, 3}}
	m.lead()
	return m
}

func (m *leaderModel) lead() {
	e, _ := m.core.BecomeLeader(State{LeaderAndISR: m.written, Replicas: []metadata.BrokerID{1, 2, 3}}, m.leo, m.hw, m.now)
	m.take(e)
}

func (m *leaderModel) take(e Effects) {
	m.hw = e.HW
	if e.Propose != nil {
		m.out = append(m.out, e.Propose)
	}
}

// control is the controller's view of a proposal: conditional on both epochs.
func (m *leaderModel) control(p *Proposal) error {
	switch {
	case p.LeaderEpoch != m.written.LeaderEpoch:
		return kerr.FencedLeaderEpoch
	case slices.Equal(p.ISR, m.written.ISR):
		return nil
	case p.PartitionEpoch != m.written.PartitionEpoch:
		return kerr.InvalidUpdateVersion
	}
	m.written.ISR = p.ISR
	m.written.PartitionEpoch++
	return nil
}

func (m *leaderModel) actions() map[string]func(*rapid.T) {
	follower := rapid.SampledFrom([]metadata.BrokerID{2, 3})
	return map[string]func(*rapid.T){
		"append": func(t *rapid.T) {
			m.leo += rapid.Int64Range(1, 5).Draw(t, "n")
			m.take(m.core.LocalAppended(m.leo, m.now))
		},
		"fetch": func(t *rapid.T) {
			id := follower.Draw(t, "id")
			e, _ := m.core.FollowerFetched(Fetch{Replica: id, Offset: m.logs[id], BrokerEpoch: -1, Alive: true}, m.now)
			m.take(e)
			m.logs[id] += min(rapid.Int64Range(0, 5).Draw(t, "n"), m.leo-m.logs[id])
		},
		"wait": func(t *rapid.T) { m.now = m.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "s")) * time.Second) },
		"tick": func(*rapid.T) { m.take(m.core.Tick(m.now)) },
		"answer": func(t *rapid.T) {
			if len(m.out) == 0 {
				t.Skip("nothing under way")
			}
			i := rapid.IntRange(0, len(m.out)-1).Draw(t, "i")
			p := m.out[i]
			m.out = slices.Delete(m.out, i, i+1)
			err := m.control(p)
			if rapid.Bool().Draw(t, "lost") {
				err = errors.New("connection lost")
			}
			m.take(m.core.ProposalDone(p.Seq, OutcomeOf(err), m.written, m.now))
		},
		"znode": func(*rapid.T) { m.written.PartitionEpoch++ },
		"reelect": func(*rapid.T) {
			m.written.LeaderEpoch++
			m.written.PartitionEpoch++
			m.lead()
		},
		"observe":      func(*rapid.T) { m.take(m.core.Observed(m.written, m.now)) },
		"min-insync":   func(t *rapid.T) { m.min = rapid.IntRange(1, 3).Draw(t, "min"); m.core.SetMinInsync(m.min) },
		"leaderAndISR": func(*rapid.T) { m.lead() },
	}
}

// TestMain asks rapid for histories that are long enough for a change to get stuck while a replica falls behind; flags on
// the command line override it.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.steps": "200", "rapid.checks": "500"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// TestCore_AnyHistory_KeepsInvariants checks after each step that the mark does not fall, that it is covered by the
// log of every replica that the controller could elect, and that at most one change is under way.
func TestCore_AnyHistory_KeepsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newLeaderModel()
		last, under, seen := m.hw, false, int64(0)
		actions := m.actions()
		for name, act := range actions {
			actions[name] = func(t *rapid.T) {
				under, seen = m.core.UnderMinISR(), m.hw
				act(t)
			}
		}
		actions[""] = func(t *rapid.T) {
			if err := m.check(last); err != nil {
				t.Fatal(err)
			}
			if under && m.core.UnderMinISR() && m.hw != seen {
				t.Fatalf("hw moved from %d to %d below min isr", seen, m.hw)
			}
			last = m.hw
		}
		t.Repeat(actions)
	})
}

func (m *leaderModel) check(last int64) error {
	if m.hw < last {
		return fmt.Errorf("hw fell from %d to %d", last, m.hw)
	}
	if m.hw > m.leo {
		return fmt.Errorf("hw %d above leo %d", m.hw, m.leo)
	}
	for _, id := range m.written.ISR {
		if id != 1 && m.logs[id] < m.hw {
			return fmt.Errorf("hw %d above the log of isr member %d, which ends at %d", m.hw, id, m.logs[id])
		}
	}
	if len(m.core.MaximalISR()) < len(m.core.Committed().ISR) {
		return errors.New("the maximal isr is smaller than the committed one")
	}
	return nil
}

func TestOutcomeOf_Errors_AreClassified(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want Outcome
	}{
		{nil, Accepted},
		{kerr.OperationNotAttempted, Refused},
		{fmt.Errorf("t-0: %w", kerr.IneligibleReplica), Refused},
		{kerr.FencedLeaderEpoch, Stale},
		{fmt.Errorf("t-0: %w", kerr.InvalidUpdateVersion), Stale},
		{kerr.UnknownTopicOrPartition, Stale},
		{kerr.UnknownTopicID, Stale},
		{kerr.InvalidRequest, Stale},
		{kerr.NotController, Unclear},
		{errors.New("broken pipe"), Unclear},
	} {
		if got := OutcomeOf(tc.err); got != tc.want {
			t.Errorf("%v: got %v, want %v", tc.err, got, tc.want)
		}
	}
}

func TestCore_HotPath_DoesNotAllocate(t *testing.T) {
	c := New(1, 30*time.Second)
	now := time.Unix(1000, 0)
	c.BecomeLeader(State{
		LeaderAndISR: metadata.LeaderAndISR{Leader: 1, ISR: []metadata.BrokerID{1, 2}},
		Replicas:     []metadata.BrokerID{1, 2, 3},
	}, 0, 0, now)
	leo := int64(0)
	avg := testing.AllocsPerRun(1000, func() {
		leo++
		now = now.Add(time.Millisecond)
		c.LocalAppended(leo, now)
		c.FollowerFetched(Fetch{Replica: 2, Offset: leo, BrokerEpoch: 7, Alive: true}, now)
		c.Tick(now)
		c.Reached(leo)
	})
	if avg != 0 {
		t.Fatalf("%v allocations a round, want 0", avg)
	}
	if c.HW() != leo {
		t.Fatalf("hw %d, want %d", c.HW(), leo)
	}
}
