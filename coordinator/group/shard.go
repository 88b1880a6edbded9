package group

import (
	"time"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// Shard is the groups of one partition of __consumer_offsets. It implements coordinator.Shard.
type Shard struct {
	cfg    Config
	groups map[string]*group
	timers timers
	// sweep is when expired offsets are looked for next; zero before the load has ended.
	sweep time.Time
	// open are the groups with pending offsets of each producer's transaction.
	open map[int64]map[*group]bool
	// names holds one copy of each topic name.
	names map[string]string
	// image is the cluster as the last request that named one knew it, nil after a load.
	image *metadata.Image
	// newest is the last write of a consumer group that is in the log and not committed, or nil.
	newest *consumerWrite

	// now and out are of the operation that runs.
	now time.Time
	out coordinator.Effects
}

// NewShard returns a shard without groups.
func NewShard(cfg Config) *Shard {
	return &Shard{cfg: cfg, groups: map[string]*group{}, open: map[int64]map[*group]bool{}, names: map[string]string{}}
}

// write is the tag of a coordinator.Write: what happens to the state with it.
type write interface {
	appended(s *Shard, offset int64)
	rejected(s *Shard, err error)
	late(s *Shard, err error)
	committed(s *Shard)
}

// Appended implements coordinator.Shard.
func (s *Shard) Appended(now time.Time, tag any, offset int64) {
	s.now = now
	tag.(write).appended(s, offset)
}

// Rejected implements coordinator.Shard.
func (s *Shard) Rejected(now time.Time, tag any, err error) coordinator.Effects {
	s.now = now
	tag.(write).rejected(s, err)
	return s.effects()
}

// Late implements coordinator.Shard.
func (s *Shard) Late(now time.Time, tag any, err error) coordinator.Effects {
	s.now = now
	tag.(write).late(s, err)
	return s.effects()
}

// Committed implements coordinator.Shard.
func (s *Shard) Committed(now time.Time, tag any) coordinator.Effects {
	s.now = now
	tag.(write).committed(s)
	return s.effects()
}

// Deadline implements coordinator.Shard.
func (s *Shard) Deadline() time.Time {
	next := s.timers.next()
	if next.IsZero() || !s.sweep.IsZero() && s.sweep.Before(next) {
		return s.sweep
	}
	return next
}

// Tick implements coordinator.Shard.
func (s *Shard) Tick(now time.Time) coordinator.Effects {
	s.now = now
	for t, ok := s.timers.due(now); ok; t, ok = s.timers.due(now) {
		s.fire(t)
		if t.c != nil && len(s.out.Writes) > 0 {
			return s.effects() // the next one must find the group as this one leaves it
		}
	}
	if !s.sweep.IsZero() && !s.sweep.After(now) {
		s.sweep = now.Add(s.cfg.RetentionCheckInterval)
		s.expireOffsets()
	}
	return s.effects()
}

// effects hands out what the operation asked for.
func (s *Shard) effects() coordinator.Effects {
	out := s.out
	s.out = coordinator.Effects{}
	return out
}

func (s *Shard) reply(t coordinator.Ticket, body any) {
	if t != coordinator.NoTicket {
		s.out.Replies = append(s.out.Replies, coordinator.Reply{To: t, Body: body})
	}
}

func (s *Shard) write(w coordinator.Write) {
	w.Timestamp = s.now.UnixMilli()
	s.out.Writes = append(s.out.Writes, w)
}

// group returns the group, made if need be.
func (s *Shard) group(id string) *group {
	g := s.groups[id]
	if g == nil {
		g = newGroup(id, s.now)
		s.groups[id] = g
	}
	return g
}

// intern returns the shard's own copy of a topic name.
func (s *Shard) intern(topic string) string {
	if n, ok := s.names[topic]; ok {
		return n
	}
	s.names[topic] = topic
	return topic
}

// Stats counts what the shard holds, for metrics.
type Stats struct {
	Groups int
	// ByState are the classic groups.
	ByState [Dead + 1]int
	Offsets int
}

// Stats walks over all groups.
func (s *Shard) Stats() Stats {
	var st Stats
	for _, g := range s.groups {
		st.Groups++
		if g.consumer == nil {
			st.ByState[g.state]++
		}
		st.Offsets += len(g.offsets.committed)
	}
	return st
}

// Add sums up.
func (st *Stats) Add(o Stats) {
	st.Groups += o.Groups
	st.Offsets += o.Offsets
	for i, n := range o.ByState {
		st.ByState[i] += n
	}
}
