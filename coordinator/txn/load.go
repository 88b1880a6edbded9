package txn

import (
	"time"

	"jackdaw/coordinator"
)

// Loaded implements coordinator.Shard: the markers of decided transactions are asked for again, since the coordinator before
// may not have written them all.
func (s *Shard) Loaded(now time.Time) coordinator.Effects {
	s.now = now
	for _, x := range s.matching(func(x *transaction) bool { return x.state.preparing() }) {
		s.sendMarkers(x)
	}
	s.abort, s.expire = now.Add(s.cfg.AbortInterval), now.Add(s.cfg.ExpireInterval)
	return s.effects()
}
