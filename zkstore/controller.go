package zkstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"jackdaw/metadata"
	"jackdaw/zkstore/znode"
)

// ControllerWriter makes the writes of the controller, each in a multi with a check of the controller epoch's node.
type ControllerWriter struct {
	s *Session
	e Election
}

// Controller returns the writer of an election.
func (s *Session) Controller(e Election) *ControllerWriter { return &ControllerWriter{s: s, e: e} }

// Election returns the election that the writer was made for.
func (w *ControllerWriter) Election() Election { return w.e }

// PartitionWrite is one state to write. A set is conditional on State.PartitionEpoch.
type PartitionWrite struct {
	TP    metadata.TopicPartition
	State metadata.LeaderAndISR
}

// PartitionResult is the result of one PartitionWrite.
type PartitionResult struct {
	TP metadata.TopicPartition
	// Version is the new partition epoch when Err is nil.
	Version int32
	// Err is ErrNodeExists for a create; ErrBadVersion or ErrNoNode for a set; ErrControllerMoved.
	Err error
}

// guard puts the check of the epoch before operations.
func (w *ControllerWriter) guard(ops ...Op) []Op {
	return append([]Op{CheckOp(znode.ControllerEpochPath, w.e.EpochZKVersion)}, ops...)
}

// unguard takes the result of the check off a group's results.
func (w *ControllerWriter) unguard(r GroupResult) GroupResult {
	if len(r.Ops) == 0 {
		return r
	}
	check := r.Ops[0].Err
	if errors.Is(check, ErrBadVersion) || errors.Is(check, ErrNoNode) {
		return GroupResult{Ops: failAll(len(r.Ops)-1, ErrControllerMoved), Err: w.moved()}
	}
	return GroupResult{Ops: r.Ops[1:], Err: r.Err}
}

func (w *ControllerWriter) moved() error {
	return fmt.Errorf("controller epoch %d: %w", w.e.Epoch, ErrControllerMoved)
}

// Multi runs operations, all or none, if this is still the controller.
func (w *ControllerWriter) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	res, err := w.s.Multi(ctx, w.guard(ops...)...)
	r := w.unguard(GroupResult{Ops: res, Err: err})
	return r.Ops, r.Err
}

// DoMany is Session.DoMany with the check in each group. err is ErrControllerMoved when it failed for any of them.
func (w *ControllerWriter) DoMany(ctx context.Context, groups [][]Op) ([]GroupResult, error) {
	guarded := make([][]Op, len(groups))
	for i, g := range groups {
		guarded[i] = w.guard(g...)
	}
	res, err := w.s.DoMany(ctx, guarded)
	if err != nil {
		return nil, err
	}
	for i := range res {
		res[i] = w.unguard(res[i])
		if errors.Is(res[i].Err, ErrControllerMoved) {
			err = res[i].Err
		}
	}
	return res, err
}

// CreatePartitionStates creates the states of new partitions, and the nodes above them that are missing, many at a time.
// err is ErrControllerMoved, or the end of session or context; without the latter, results tell what was done.
// Kafka: KafkaZkClient.createTopicPartitionStatesRaw. Differs from Kafka: a partition and its state are one multi.
func (w *ControllerWriter) CreatePartitionStates(ctx context.Context, writes []PartitionWrite) ([]PartitionResult, error) {
	if err := w.ensurePartitions(ctx, writes); err != nil {
		return nil, err
	}
	groups := make([][]Op, len(writes))
	for i, p := range writes {
		groups[i] = []Op{
			CreateOp(znode.PartitionPath(p.TP), nil, Persistent),
			CreateOp(znode.StatePath(p.TP), znode.EncodePartitionState(p.State), Persistent),
		}
	}
	res, err := w.DoMany(ctx, groups)
	if res == nil {
		return nil, err
	}
	out := make([]PartitionResult, len(writes))
	var again []int
	for i, p := range writes {
		out[i] = PartitionResult{TP: p.TP, Err: res[i].Err}
		if len(res[i].Ops) == 2 && errors.Is(res[i].Ops[0].Err, ErrNodeExists) {
			again = append(again, i)
		}
	}
	if err != nil || len(again) == 0 {
		return out, err
	}
	return out, w.createStates(ctx, writes, again, out)
}

// createStates creates the states of partitions whose own node is there already.
func (w *ControllerWriter) createStates(ctx context.Context, writes []PartitionWrite, which []int, out []PartitionResult) error {
	groups := make([][]Op, len(which))
	for j, i := range which {
		groups[j] = []Op{CreateOp(znode.StatePath(writes[i].TP), znode.EncodePartitionState(writes[i].State), Persistent)}
	}
	res, err := w.DoMany(ctx, groups)
	for j, r := range res {
		out[which[j]].Err = r.Err
	}
	return err
}

// ensurePartitions creates the "partitions" node of each topic.
func (w *ControllerWriter) ensurePartitions(ctx context.Context, writes []PartitionWrite) error {
	var groups [][]Op
	seen := map[string]bool{}
	for _, p := range writes {
		if !seen[p.TP.Topic] {
			seen[p.TP.Topic] = true
			groups = append(groups, []Op{CreateOp(znode.PartitionsPath(p.TP.Topic), nil, Persistent)})
		}
	}
	// A topic that is gone, or has the node already, shows at its partitions.
	_, err := w.DoMany(ctx, groups)
	return err
}

// SetPartitionStates writes states, many at a time, each only if the state is at its PartitionEpoch. Errors are as in
// CreatePartitionStates. Kafka: KafkaZkClient.updateLeaderAndIsr.
func (w *ControllerWriter) SetPartitionStates(ctx context.Context, writes []PartitionWrite) ([]PartitionResult, error) {
	groups := make([][]Op, len(writes))
	for i, p := range writes {
		groups[i] = []Op{SetOp(znode.StatePath(p.TP), znode.EncodePartitionState(p.State), p.State.PartitionEpoch)}
	}
	res, err := w.DoMany(ctx, groups)
	if res == nil {
		return nil, err
	}
	out := make([]PartitionResult, len(writes))
	for i, p := range writes {
		out[i] = PartitionResult{TP: p.TP, Err: res[i].Err}
		if res[i].Err == nil {
			out[i].Version = res[i].Ops[0].Stat.Version
		}
	}
	return out, err
}

// SetTopicAssignment rewrites a topic and returns the new version. AnyVersion makes it unconditional.
func (w *ControllerWriter) SetTopicAssignment(ctx context.Context, topic string, a znode.TopicAssignment, version int32) (int32, error) {
	res, err := w.Multi(ctx, SetOp(znode.TopicPath(topic), a.Encode(), version))
	if err != nil {
		return 0, err
	}
	return res[0].Stat.Version, nil
}

// DeleteTopicNodes deletes all of a topic in Kafka's order: partitions, the topic, its configuration, and the request
// last, so that whoever is controller then can go on where this one was stopped. Nodes that are gone already are fine.
func (w *ControllerWriter) DeleteTopicNodes(ctx context.Context, topic string) error {
	names, _, err := w.s.Children(ctx, znode.PartitionsPath(topic))
	if err != nil && !errors.Is(err, ErrNoNode) {
		return err
	}
	states, partitions := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		partitions[i] = znode.PartitionsPath(topic) + "/" + n
		states[i] = partitions[i] + "/state"
	}
	for _, level := range [][]string{
		states, partitions,
		{znode.PartitionsPath(topic)},
		{znode.TopicPath(topic)},
		{znode.TopicConfigPath(topic)},
		{znode.DeleteTopicPath(topic)},
	} {
		if err := w.deleteAll(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// deleteAll deletes nodes of one level, many at a time.
func (w *ControllerWriter) deleteAll(ctx context.Context, paths []string) error {
	groups := make([][]Op, len(paths))
	for i, p := range paths {
		groups[i] = []Op{DeleteOp(p, AnyVersion)}
	}
	res, err := w.DoMany(ctx, groups)
	if err != nil {
		return err
	}
	for _, r := range res {
		if r.Err != nil && !errors.Is(r.Err, ErrNoNode) {
			return r.Err
		}
	}
	return nil
}

// DeletePath deletes one node whatever its version; a node that is not there is no error.
func (w *ControllerWriter) DeletePath(ctx context.Context, path string) error {
	return w.deleteAll(ctx, []string{path})
}

// DeletePaths deletes nodes without children, many at a time.
func (w *ControllerWriter) DeletePaths(ctx context.Context, paths []string) error {
	return w.deleteAll(ctx, paths)
}

// SetPath sets the data of a node, creating it when it is not there.
func (w *ControllerWriter) SetPath(ctx context.Context, path string, data []byte) error {
	for {
		_, err := w.Multi(ctx, SetOp(path, data, AnyVersion))
		if !errors.Is(err, ErrNoNode) {
			return err
		}
		_, err = w.Multi(ctx, CreateOp(path, data, Persistent))
		if !errors.Is(err, ErrNodeExists) {
			return err
		}
	}
}

// TakeLogDirEvents reads and deletes the log dir notifications and returns the brokers they name, each once.
func (w *ControllerWriter) TakeLogDirEvents(ctx context.Context) ([]metadata.BrokerID, error) {
	var out []metadata.BrokerID
	err := w.take(ctx, znode.LogDirEventPath, func(data []byte) error {
		e, err := znode.DecodeLogDirEvent(data)
		if err == nil && !slices.Contains(out, e.Broker) {
			out = append(out, e.Broker)
		}
		return err
	})
	return out, err
}

// TakeIsrChanges reads and deletes the ISR change notifications of old brokers and returns their partitions, each once.
func (w *ControllerWriter) TakeIsrChanges(ctx context.Context) ([]metadata.TopicPartition, error) {
	var out []metadata.TopicPartition
	err := w.take(ctx, znode.IsrChangePath, func(data []byte) error {
		tps, err := znode.DecodeIsrChange(data)
		for _, tp := range tps {
			if !slices.Contains(out, tp) {
				out = append(out, tp)
			}
		}
		return err
	})
	return out, err
}

// take reads all children of a node and deletes them. What cannot be decoded is logged and deleted, too.
func (w *ControllerWriter) take(ctx context.Context, parent string, f func(data []byte) error) error {
	names, _, err := w.s.Children(ctx, parent)
	if errors.Is(err, ErrNoNode) || err == nil && len(names) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	slices.Sort(names)
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = parent + "/" + n
	}
	got, err := w.s.GetMany(ctx, paths)
	if err != nil {
		return err
	}
	for i, r := range got {
		if errors.Is(r.Err, ErrNoNode) {
			continue
		}
		if r.Err != nil {
			return r.Err
		}
		if err := f(r.Data); err != nil {
			w.s.lg.Warn("notification dropped", "path", paths[i], "err", err)
		}
	}
	return w.deleteAll(ctx, paths)
}
