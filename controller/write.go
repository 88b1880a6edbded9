package controller

import (
	"context"
	"errors"
	"slices"

	"jackdaw/controller/state"
	"jackdaw/metadata"
	"jackdaw/zkstore"
)

// drain does what the state has planned: writes, then requests, step by step. It returns false when the term ended by it; then
// there is no office any more.
func (c *Controller) drain(ctx context.Context) bool {
	o := c.office
	start, elections := c.cfg.Now(), 0
	for {
		plan, ok := o.state.Next()
		if !ok {
			break
		}
		results, err := o.execute(ctx, plan.Writes)
		if err != nil {
			c.fail(ctx, err)
			return false
		}
		o.state.Apply(results)
		elections += c.logChanges(o)
		c.dispatch(o, o.state.Requests()) //nolint:contextcheck // a sender outlives the event that it is started by
		if o.state.Deposed() {
			c.fail(ctx, zkstore.ErrControllerMoved)
			return false
		}
	}
	if elections > 0 {
		c.metrics.elections.Observe(millis(c.cfg.Now().Sub(start)))
	}
	c.retainSenders(o)
	c.tendProbes(o) //nolint:contextcheck // a probe outlives the event that it is started by
	c.trimLegacy(ctx)
	return c.office != nil
}

// execute makes the writes of a plan, many at a time.
func (o *office) execute(ctx context.Context, writes []state.Write) ([]state.Result, error) {
	results := make([]state.Result, len(writes))
	var creates, sets batch
	for i, w := range writes {
		switch w.Kind {
		case state.CreateState:
			creates.add(i, w)
		case state.SetState:
			sets.add(i, w)
		case state.SetTopic:
			a := nodeOf(w.ID, w.Assignments)
			if _, err := o.writer.SetTopicAssignment(ctx, w.Topic, a, zkstore.AnyVersion); err != nil && !errors.Is(err, zkstore.ErrNoNode) {
				return nil, err
			}
		case state.DeleteTopic:
			if err := o.writer.DeleteTopicNodes(ctx, w.Topic); err != nil {
				return nil, err
			}
		}
	}
	for _, b := range []struct {
		batch
		write func(context.Context, []zkstore.PartitionWrite) ([]zkstore.PartitionResult, error)
	}{
		{creates, o.writer.CreatePartitionStates},
		{sets, o.writer.SetPartitionStates},
	} {
		if len(b.writes) == 0 {
			continue
		}
		got, err := b.write(ctx, b.writes)
		if err != nil {
			return nil, err
		}
		if err := o.results(ctx, b.batch, got, results); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// batch is the part of a plan that one call writes, with the places in the plan.
type batch struct {
	index  []int
	writes []zkstore.PartitionWrite
}

func (b *batch) add(i int, w state.Write) {
	b.index = append(b.index, i)
	b.writes = append(b.writes, zkstore.PartitionWrite{TP: w.Partition, State: w.State})
}

// results sorts out what became of a batch. After a conflict the state is read, since the state machine must know it to go on,
// and since a write whose answer was lost may be what is there.
func (o *office) results(ctx context.Context, b batch, got []zkstore.PartitionResult, results []state.Result) error {
	var conflicts []int
	for j, r := range got {
		switch {
		case r.Err == nil:
			results[b.index[j]] = state.Result{Version: r.Version}
		case errors.Is(r.Err, zkstore.ErrNodeExists), errors.Is(r.Err, zkstore.ErrBadVersion), errors.Is(r.Err, zkstore.ErrNoNode):
			conflicts = append(conflicts, j)
		default:
			return r.Err
		}
	}
	if len(conflicts) == 0 {
		return nil
	}
	tps := make([]metadata.TopicPartition, len(conflicts))
	for k, j := range conflicts {
		tps[k] = b.writes[j].TP
	}
	current, err := o.session.PartitionStates(ctx, tps)
	if err != nil {
		return err
	}
	for _, j := range conflicts {
		w := b.writes[j]
		r := state.Result{Conflict: true}
		if now, ok := current[w.TP]; ok {
			r.Current = &now
			if isWrite(w.State, now) {
				r = state.Result{Version: now.PartitionEpoch}
			}
		}
		results[b.index[j]] = r
	}
	return nil
}

// isWrite reports whether the state that was read is the one that was to be written, one version on.
func isWrite(want, now metadata.LeaderAndISR) bool {
	return now.ControllerEpoch == want.ControllerEpoch && now.Leader == want.Leader && now.LeaderEpoch == want.LeaderEpoch &&
		now.Recovery == want.Recovery && slices.Equal(now.ISR, want.ISR) && now.PartitionEpoch == want.PartitionEpoch+1
}

// logChanges writes the state change log and returns how many leaders changed.
func (c *Controller) logChanges(o *office) (elections int) {
	for _, ch := range o.state.Changes() {
		lg := c.cfg.StateChange.With("controller", c.cfg.BrokerID, "epoch", o.election.Epoch,
			"topic", ch.Partition.Topic, "partition", ch.Partition.Partition)
		if ch.Failure != "" {
			lg.Error("no leader elected", "reason", ch.Failure, "leader", ch.To.Leader, "isr", ch.To.ISR)
			continue
		}
		from := metadata.NoBroker
		if ch.From != nil {
			from = ch.From.Leader
		}
		lg.Info("changed partition", "from", from, "leader", ch.To.Leader, "leaderEpoch", ch.To.LeaderEpoch,
			"isr", ch.To.ISR, "partitionEpoch", ch.To.PartitionEpoch, "recovering", ch.To.Recovery == metadata.Recovering)
		if ch.From == nil || ch.From.Leader != ch.To.Leader {
			elections++
		}
		if ch.Unclean {
			c.metrics.unclean.Inc()
			c.lg.Warn("unclean leader election: records that only the former in-sync replicas had are lost",
				"topic", ch.Partition.Topic, "partition", ch.Partition.Partition, "leader", ch.To.Leader,
				"epoch", ch.To.LeaderEpoch, "formerISR", ch.From.ISR)
		}
	}
	return elections
}
