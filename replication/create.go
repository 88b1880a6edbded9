package replication

import (
	"golang.org/x/sync/errgroup"
)

// createWorkers is how many logs are made at the same time. Each costs three fsyncs, and the file system joins those that
// come together.
const createWorkers = 16

// createLogs makes the logs of new partitions, before these get their roles one by one. What goes wrong here goes wrong
// there again, and is told there.
func (m *ReplicaManager) createLogs(states []PartitionState) {
	var g errgroup.Group
	g.SetLimit(createWorkers)
	for i := range states {
		s := &states[i]
		if m.hosted(s.TP) != nil || m.outlived(s) != nil {
			continue
		}
		p := newPartition(m, s.TP)
		if p.acceptable(s) != nil {
			continue
		}
		g.Go(func() error {
			_, err := m.openLog(p, s)
			return err
		})
	}
	_ = g.Wait() // see above
}
