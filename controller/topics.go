package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/controller/state"
	"jackdaw/metadata"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// CreateTopics validates topics and, unless validateOnly, creates them: their znodes are written and their first leaders
// elected when it returns. The brokers learn of them a little later. Results are in the order of topics.
// Kafka: ZkAdminManager.createTopics.
func (c *Controller) CreateTopics(ctx context.Context, topics []NewTopic, validateOnly bool) []CreateResult {
	out := make([]CreateResult, len(topics))
	err := c.inOffice(ctx, "topic creation", func(ctx context.Context, o *office) error {
		return c.createTopics(ctx, o, topics, validateOnly, out)
	})
	if err == nil {
		return out
	}
	failed := make([]CreateResult, len(topics))
	for i, t := range topics {
		failed[i] = CreateResult{Name: t.Name, Err: err}
	}
	return failed
}

// inOffice runs f in the loop if this broker is the controller, and returns its error; NOT_CONTROLLER otherwise, and when the
// term ends meanwhile. See do for what f may write to.
func (c *Controller) inOffice(ctx context.Context, name string, f func(ctx context.Context, o *office) error) error {
	result := make(chan error, 1)
	err := c.do(ctx, name, func(ctx context.Context) {
		if c.office == nil {
			result <- kerr.NotController
			return
		}
		result <- f(ctx, c.office)
	})
	if errors.Is(err, errStopped) {
		return kerr.NotController
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, err, kerr.RequestTimedOut)
	}
	return <-result
}

// finish does what the state planned; NOT_CONTROLLER when the term ended by it.
func (c *Controller) finish(ctx context.Context) error {
	if !c.drain(ctx) {
		return kerr.NotController
	}
	return nil
}

func (c *Controller) createTopics(ctx context.Context, o *office, topics []NewTopic, validateOnly bool, out []CreateResult) error {
	times := map[string]int{}
	for _, t := range topics {
		times[t.Name]++
	}
	p := &planner{c: c, o: o, loads: o.state.Loads(), names: o.state.TopicNames()}
	var todo []creation
	for i, t := range topics {
		r := &out[i]
		r.Name = t.Name
		if times[t.Name] > 1 {
			r.Err = state.Errorf(kerr.InvalidRequest, "Found multiple entries for this topic.")
			continue
		}
		assignment, err := p.topic(t)
		if err != nil {
			r.Err = err
			continue
		}
		r.NumPartitions, r.RF = int32(len(assignment)), int32(len(assignment[0]))
		if !validateOnly {
			todo = append(todo, c.newCreation(r, t, assignment))
		}
	}
	if err := o.writeTopics(ctx, todo); err != nil {
		c.fail(ctx, err)
		return kerr.NotController
	}
	var created []string
	for _, t := range todo {
		if t.result.Err == nil {
			created = append(created, t.result.Name)
		}
	}
	if len(created) == 0 {
		return nil
	}
	return c.adoptTopics(ctx, o, created)
}

// creation is a topic that is being written.
type creation struct {
	result       *CreateResult
	node, config []byte
}

func (c *Controller) newCreation(r *CreateResult, t NewTopic, assignment map[int32][]metadata.BrokerID) creation {
	if c.ibp.TopicIDs() {
		r.ID = newTopicID()
	}
	node := znode.TopicAssignment{TopicID: r.ID, Partitions: assignment}
	return creation{result: r, node: node.Encode(), config: znode.EncodeConfig(t.Configs)}
}

// writeTopics writes the nodes of topics, many at a time, and puts into each result whether it was done.
//
// Differs from Kafka: the configuration and the topic are one transaction, with the check of the controller epoch; Kafka writes
// them one after the other and without it, so that a deposed controller may still create a topic and refuse it to the client.
func (o *office) writeTopics(ctx context.Context, todo []creation) error {
	leftover, err := o.tryWrite(ctx, todo, func(t creation) zkstore.Op {
		return zkstore.CreateOp(znode.TopicConfigPath(t.result.Name), t.config, zkstore.Persistent)
	})
	if err != nil || len(leftover) == 0 {
		return err
	}
	// The configuration is there already, from a creation or deletion that was cut off, or the topic is.
	_, err = o.tryWrite(ctx, leftover, func(t creation) zkstore.Op {
		return zkstore.SetOp(znode.TopicConfigPath(t.result.Name), t.config, zkstore.AnyVersion)
	})
	return err
}

// tryWrite writes topics with the given operation for their configuration. It returns those for which that failed.
func (o *office) tryWrite(ctx context.Context, todo []creation, config func(t creation) zkstore.Op) (leftover []creation, err error) {
	groups := make([][]zkstore.Op, len(todo))
	for i, t := range todo {
		groups[i] = []zkstore.Op{config(t), zkstore.CreateOp(znode.TopicPath(t.result.Name), t.node, zkstore.Persistent)}
	}
	results, err := o.writer.DoMany(ctx, groups)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		t := todo[i]
		switch {
		case r.Err == nil:
		case len(r.Ops) == 2 && errors.Is(r.Ops[0].Err, zkstore.ErrNodeExists):
			leftover = append(leftover, t)
		case errors.Is(r.Err, zkstore.ErrNodeExists):
			t.result.Err = existsError(t.result.Name)
		case errors.Is(r.Err, zkstore.ErrTooLarge):
			t.result.Err = tooLarge(int(t.result.NumPartitions))
		default:
			return nil, r.Err
		}
		if t.result.Err != nil {
			t.result.ID = metadata.TopicID{}
		}
	}
	return leftover, nil
}

// maxPartitions is more than a topic's node has room for in ZooKeeper, where each partition takes 8 bytes at least, as in
// "0":[1],. What is beyond it must not be placed first: that would take all memory. Nor may one request have more than
// maxNewPartitions, in all its topics.
const (
	maxPartitions    = 1 << 20 / 8
	maxNewPartitions = 1 << 18
)

// tooLarge is the answer when a topic node would exceed what ZooKeeper takes.
func tooLarge(partitions int) error {
	return state.Errorf(kerr.InvalidPartitions, "The assignment of %d partitions is larger than a node of ZooKeeper may be.", partitions)
}

// fatal reports whether an error ends the term rather than one request.
func fatal(err error) bool {
	var ke *kerr.Error
	return !errors.As(err, &ke)
}

// adoptTopics takes over topics that were just created without waiting for the watch, which will find nothing new.
func (c *Controller) adoptTopics(ctx context.Context, o *office, names []string) error {
	fresh, err := c.readTopics(ctx, o, names)
	if err != nil {
		c.fail(ctx, err)
		return kerr.NotController
	}
	o.state.SetTopics(append(o.state.TopicNames(), names...), fresh)
	return c.finish(ctx)
}

// planner validates and places the topics of one request, each in view of those before it.
type planner struct {
	c     *Controller
	o     *office
	loads []state.BrokerLoad
	names []string
	// placed counts the new partitions that loads has.
	placed int
}

// place finds brokers for n partitions from first on.
func (p *planner) place(first, n int32, rf int) (map[int32][]metadata.BrokerID, error) {
	switch total := int64(first) + int64(n); {
	case total > maxPartitions:
		return nil, tooLarge(int(total))
	case p.placed+int(n) > maxNewPartitions:
		return nil, state.Errorf(kerr.InvalidPartitions, "More than %d partitions are asked for at once.", maxNewPartitions)
	}
	return state.Place(p.loads, first, int(n), rf)
}

// topic returns the assignment of a topic, or why it cannot be created.
func (p *planner) topic(t NewTopic) (map[int32][]metadata.BrokerID, error) {
	if _, exists := p.o.state.Topic(t.Name); exists {
		if p.o.state.Dying(t.Name) {
			return nil, state.Errorf(kerr.TopicAlreadyExists, "Topic '%s' is marked for deletion.", t.Name)
		}
		return nil, existsError(t.Name)
	}
	assignment := t.Assignment
	switch {
	case len(assignment) > 0 && (t.NumPartitions != -1 || t.RF != -1):
		return nil, state.Errorf(kerr.InvalidRequest,
			"Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same time.")
	case len(assignment) == 0:
		var err error
		if assignment, err = p.place(0, t.NumPartitions, int(t.RF)); err != nil {
			return nil, err
		}
	}
	if err := ValidateTopicName(t.Name); err != nil {
		return nil, err
	}
	if twins := colliding(t.Name, p.names); len(twins) > 0 {
		return nil, state.Errorf(kerr.InvalidTopicException, "Topic '%s' collides with existing topics: %s", t.Name, strings.Join(twins, ", "))
	}
	if err := checkAssignment(assignment); err != nil {
		return nil, err
	}
	p.names = append(p.names, t.Name)
	p.account(assignment)
	return assignment, nil
}

func existsError(name string) error {
	return state.Errorf(kerr.TopicAlreadyExists, "Topic '%s' already exists.", name)
}

// account adds an assignment to the loads.
func (p *planner) account(assignment map[int32][]metadata.BrokerID) {
	p.placed += len(assignment)
	index := make(map[metadata.BrokerID]*state.BrokerLoad, len(p.loads))
	for i := range p.loads {
		index[p.loads[i].ID] = &p.loads[i]
	}
	for _, replicas := range assignment {
		for i, id := range replicas {
			if l := index[id]; l != nil {
				l.Replicas++
				if i == 0 {
					l.Leaders++
				}
			}
		}
	}
}

// checkAssignment refuses a manual assignment with holes, repetitions or unequal lengths. Brokers need not exist, as in Kafka.
// Kafka: AdminZkClient.validateTopicCreate.
func checkAssignment(assignment map[int32][]metadata.BrokerID) error {
	refuse := func(format string, args ...any) error {
		return state.Errorf(kerr.InvalidReplicaAssignment, format, args...)
	}
	var twice []string
	lengths := map[int]struct{}{}
	for _, n := range slices.Sorted(maps.Keys(assignment)) {
		replicas := assignment[n]
		lengths[len(replicas)] = struct{}{}
		if repeated(replicas) {
			twice = append(twice, fmt.Sprintf("%d -> ArrayBuffer(%s)", n, join(replicas)))
		}
	}
	if len(lengths) != 1 {
		return refuse("All partitions should have the same number of replicas")
	}
	if len(twice) > 0 {
		return refuse("Duplicate replica assignment found: HashMap(%s)", strings.Join(twice, ", "))
	}
	for n := range int32(len(assignment)) {
		replicas, ok := assignment[n]
		if !ok {
			return refuse("partitions should be a consecutive 0-based integer sequence")
		}
		if len(replicas) == 0 {
			return refuse("Empty replica list for partition %d", n)
		}
	}
	return nil
}

func repeated(ids []metadata.BrokerID) bool {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return true
		}
	}
	return false
}

// join writes ids as Scala's collections do in Kafka's messages.
func join(ids []metadata.BrokerID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = fmt.Sprint(int32(id))
	}
	return strings.Join(parts, ", ")
}

// DeleteTopics marks topics for deletion. nil is returned for a topic that will go, also if its deletion was asked before; it is
// gone when all brokers with a replica have deleted theirs. Kafka: ZkAdminManager.deleteTopics.
func (c *Controller) DeleteTopics(ctx context.Context, topics []string) map[string]error {
	out := make(map[string]error, len(topics))
	err := c.inOffice(ctx, "topic deletion", func(ctx context.Context, o *office) error {
		return c.deleteTopics(ctx, o, topics, out)
	})
	if err == nil {
		return out
	}
	failed := make(map[string]error, len(topics))
	for _, t := range topics {
		failed[t] = err
	}
	return failed
}

func (c *Controller) deleteTopics(ctx context.Context, o *office, topics []string, out map[string]error) error {
	var marked []string
	for _, t := range topics {
		_, exists := o.state.Topic(t)
		switch {
		case !c.cfg.DeleteTopicEnable:
			out[t] = kerr.TopicDeletionDisabled
			continue
		case !exists:
			out[t] = kerr.UnknownTopicOrPartition
			continue
		}
		if err := o.session.RequestTopicDeletion(ctx, t); err != nil && !errors.Is(err, zkstore.ErrNodeExists) {
			c.fail(ctx, err)
			return kerr.NotController
		}
		out[t] = nil
		marked = append(marked, t)
	}
	o.state.DeleteTopics(marked)
	return c.finish(ctx)
}

// CreatePartitions adds partitions to topics. Results are in the order of topics. Kafka: ZkAdminManager.createPartitions.
func (c *Controller) CreatePartitions(ctx context.Context, topics []NewPartitions, validateOnly bool) []PartitionsResult {
	out := make([]PartitionsResult, len(topics))
	err := c.inOffice(ctx, "partition creation", func(ctx context.Context, o *office) error {
		return c.createPartitions(ctx, o, topics, validateOnly, out)
	})
	if err == nil {
		return out
	}
	failed := make([]PartitionsResult, len(topics))
	for i, t := range topics {
		failed[i] = PartitionsResult{Topic: t.Topic, Err: err}
	}
	return failed
}

func (c *Controller) createPartitions(ctx context.Context, o *office, topics []NewPartitions, validateOnly bool, out []PartitionsResult) error {
	times := map[string]int{}
	for _, t := range topics {
		times[t.Topic]++
	}
	p := &planner{c: c, o: o, loads: o.state.Loads()}
	for i, t := range topics {
		r := &out[i]
		r.Topic = t.Topic
		if times[t.Topic] > 1 {
			r.Err = state.Errorf(kerr.InvalidRequest, "Duplicate topic in request.")
			continue
		}
		added, err := p.partitions(t)
		if err != nil {
			r.Err = err
			continue
		}
		p.account(added)
		if validateOnly {
			continue
		}
		if r.Err = c.addPartitions(ctx, o, t.Topic, added); r.Err != nil && fatal(r.Err) {
			c.fail(ctx, r.Err)
			return kerr.NotController
		}
	}
	return c.finish(ctx)
}

// addPartitions writes the topic with its new partitions and takes them over.
func (c *Controller) addPartitions(ctx context.Context, o *office, topic string, added map[int32][]metadata.BrokerID) error {
	snap, _ := o.state.Topic(topic)
	for n, replicas := range added {
		snap.Partitions[n] = state.Assignment{Replicas: replicas}
	}
	_, err := o.writer.SetTopicAssignment(ctx, topic, nodeOf(snap.ID, snap.Partitions), zkstore.AnyVersion)
	if errors.Is(err, zkstore.ErrTooLarge) {
		return tooLarge(len(snap.Partitions))
	}
	if err != nil {
		return err
	}
	o.state.SetPartitions(topic, snap.Partitions)
	return nil
}

// partitions returns the assignment of the new partitions of a topic, or why there can be none.
func (p *planner) partitions(t NewPartitions) (map[int32][]metadata.BrokerID, error) {
	if p.o.state.Dying(t.Topic) {
		return nil, state.Errorf(kerr.InvalidTopicException, "The topic is queued for deletion.")
	}
	snap, exists := p.o.state.Topic(t.Topic)
	if !exists {
		return nil, state.Errorf(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", t.Topic)
	}
	for _, a := range snap.Partitions {
		if a.Reassigning() {
			return nil, state.Errorf(kerr.ReassignmentInProgress, "A partition reassignment is in progress for the topic '%s'.", t.Topic)
		}
	}
	old := int32(len(snap.Partitions))
	switch {
	case t.Count < old:
		return nil, state.Errorf(kerr.InvalidPartitions,
			"Topic currently has %d partitions, which is higher than the requested %d.", old, t.Count)
	case t.Count == old:
		return nil, state.Errorf(kerr.InvalidPartitions, "Topic already has %d partitions.", old)
	}
	rf := len(snap.Partitions[0].Replicas)
	if t.Assignment == nil {
		return p.place(old, t.Count-old, rf)
	}
	return p.manual(t, old, rf)
}

// manual checks the assignment that a request gives for new partitions. Kafka: AdminZkClient.validateReplicaAssignment.
func (p *planner) manual(t NewPartitions, old int32, rf int) (map[int32][]metadata.BrokerID, error) {
	refuse := func(format string, args ...any) error {
		return state.Errorf(kerr.InvalidReplicaAssignment, format, args...)
	}
	live := map[metadata.BrokerID]bool{}
	for _, b := range p.o.state.Brokers() {
		live[b.ID] = true
	}
	var unknown []metadata.BrokerID
	for _, replicas := range t.Assignment {
		for _, id := range replicas {
			if !live[id] && !slices.Contains(unknown, id) {
				unknown = append(unknown, id)
			}
		}
	}
	if len(unknown) > 0 {
		return nil, refuse("Unknown broker(s) in replica assignment: %s.", join(unknown))
	}
	if n := int(t.Count - old); len(t.Assignment) != n {
		return nil, refuse("Increasing the number of partitions by %d but %d assignments provided.", n, len(t.Assignment))
	}
	out := map[int32][]metadata.BrokerID{}
	for i, replicas := range t.Assignment {
		n := old + int32(i)
		switch {
		case len(replicas) == 0:
			return nil, refuse("Cannot have replication factor of 0 for partition id %d.", n)
		case repeated(replicas):
			return nil, refuse("Duplicate brokers not allowed in replica assignment: %s for partition id %d.", join(replicas), n)
		case len(replicas) != rf:
			return nil, refuse("Inconsistent replication factor between partitions, partition 0 has %d while partitions [%d] have replication factors [%d], respectively.",
				rf, n, len(replicas))
		}
		out[n] = replicas
	}
	return out, nil
}
