package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// The traces run events against a State and a ZooKeeper that is two maps, and print writes and requests in the notation of
// the captures of a real cluster.
func TestTraces(t *testing.T) {
	datadriven.Walk(t, "testdata/traces", func(t *testing.T, path string) {
		w := &world{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.out.Reset()
			w.run(t, d)
			return w.out.String()
		})
	})
}

// world is a State with the ZooKeeper and the brokers around it.
type world struct {
	s       *State
	states  map[metadata.TopicPartition]metadata.LeaderAndISR
	topics  map[string]map[int32]Assignment
	unclean bool
	// stops has the StopReplica requests that nobody answered yet.
	stops []Request
	leads []Request
	out   strings.Builder
}

func (w *world) run(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	args := map[string]string{}
	var words []string
	for _, a := range d.CmdArgs {
		if len(a.Vals) == 0 {
			words = append(words, a.Key)
		} else {
			args[a.Key] = strings.Join(a.Vals, ",")
		}
	}
	switch d.Cmd {
	case "load":
		w.load(t, args, words, d.Input)
	case "brokers":
		w.s.SetBrokers(parseBrokers(t, words))
	case "suspect", "clear":
		f := w.s.Suspect
		if d.Cmd == "clear" {
			f = w.s.Clear
		}
		if b := parseBrokers(t, words)[0]; !f(b.ID, b.Epoch) {
			fmt.Fprintln(&w.out, "no effect")
		}
	case "create":
		w.create(t, d.Input)
	case "grow":
		name, as := parseAssignments(t, d.Input)
		w.topics[name] = as
		w.s.SetPartitions(name, as)
	case "delete":
		if unknown := w.s.DeleteTopics(words); len(unknown) > 0 {
			fmt.Fprintf(&w.out, "unknown %v\n", unknown)
		}
	case "alter":
		w.alter(t, args, d.Input)
		return
	case "shutdown":
		w.shutdown(t, args)
		return
	case "elect":
		w.elect(t, args, words)
		return
	case "rebalance":
		w.s.Rebalance(10)
	case "reassign":
		if err := w.s.Reassign(parseTP(t, words[0]), parseTarget(args["to"])); err != nil {
			fmt.Fprintln(&w.out, err)
		}
	case "stopped":
		w.stopped(t, words)
	case "led":
		w.led(t, args, words)
	case "logdir":
		w.s.CheckLogDirs(parseIDs(strings.Join(words, ",")))
	case "zk":
		w.external(t, args, words[0])
		return
	case "unclean":
		w.unclean = words[0] == "on"
		w.s.ElectMissing()
	case "stats":
		fmt.Fprintf(&w.out, "%+v\n", w.s.Stats())
		return
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
	w.drain(t)
}

// drain does the writes of all steps and prints what happens.
func (w *world) drain(t *testing.T) {
	t.Helper()
	for {
		plan, ok := w.s.Next()
		if !ok {
			break
		}
		results := make([]Result, len(plan.Writes))
		for i, wr := range plan.Writes {
			results[i] = w.write(wr)
		}
		w.s.Apply(results)
		for _, c := range w.s.Changes() {
			if c.Failure != "" {
				fmt.Fprintf(&w.out, "no change of %s: %s\n", c.Partition, c.Failure)
			}
			if c.Unclean {
				fmt.Fprintf(&w.out, "unclean %s\n", c.Partition)
			}
		}
		for _, r := range w.s.Requests() {
			w.print(r)
		}
	}
	if w.s.Deposed() {
		fmt.Fprintln(&w.out, "deposed")
	}
}

func (w *world) write(wr Write) Result {
	switch wr.Kind {
	case SetTopic:
		w.topics[wr.Topic] = wr.Assignments
		fmt.Fprintf(&w.out, "zk set %s %s\n", wr.Topic, printAssignments(wr.Assignments))
		return Result{}
	case DeleteTopic:
		delete(w.topics, wr.Topic)
		for tp := range w.states {
			if tp.Topic == wr.Topic {
				delete(w.states, tp)
			}
		}
		fmt.Fprintf(&w.out, "zk delete %s\n", wr.Topic)
		return Result{}
	case CreateState, SetState:
	}
	now, exists := w.states[wr.Partition]
	if wr.Kind == CreateState && exists || wr.Kind == SetState && (!exists || now.PartitionEpoch != wr.State.PartitionEpoch) {
		fmt.Fprintf(&w.out, "zk conflict %s\n", wr.Partition)
		if !exists {
			return Result{Conflict: true}
		}
		return Result{Conflict: true, Current: &now}
	}
	li := wr.State
	if exists {
		li.PartitionEpoch++
	}
	w.states[wr.Partition] = li
	fmt.Fprintf(&w.out, "zk state %s %s\n", wr.Partition, printState(li))
	return Result{Version: li.PartitionEpoch}
}

func (w *world) load(t *testing.T, args map[string]string, words []string, input string) {
	t.Helper()
	ibp, err := ParseIBP("3.9-IV0")
	if v, ok := args["ibp"]; ok {
		ibp, err = ParseIBP(v)
	}
	if err != nil {
		t.Fatal(err)
	}
	epoch, err := strconv.Atoi(args["epoch"])
	if err != nil {
		t.Fatal(err)
	}
	w.s = New(Config{ID: 1, Epoch: int32(epoch), IBP: ibp, Listener: "PLAINTEXT", Unclean: func(string) bool { return w.unclean }})
	w.states = map[metadata.TopicPartition]metadata.LeaderAndISR{}
	w.topics = map[string]map[int32]Assignment{}
	snap := Snapshot{Brokers: parseBrokers(t, words), Topics: map[string]TopicSnapshot{}}
	if v := args["deleting"]; v != "" {
		snap.Deleting = strings.Split(v, ",")
	}
	for line := range strings.Lines(input) {
		tp, a, li, known := parsePartition(t, line)
		ts, ok := snap.Topics[tp.Topic]
		if !ok {
			ts = TopicSnapshot{ID: topicID(tp.Topic), Partitions: map[int32]Assignment{}}
			snap.Topics[tp.Topic] = ts
		}
		ts.Partitions[tp.Partition] = a
		if known {
			w.states[tp] = li
		}
	}
	for name, ts := range snap.Topics {
		w.topics[name] = ts.Partitions
	}
	snap.States = w.states
	if v := args["written"]; v != "" {
		snap.Written = map[metadata.TopicPartition]int64{}
		for tp := range w.states {
			snap.Written[tp] = int64(atoi(t, v))
		}
	}
	if unknown := w.s.Load(snap); len(unknown) > 0 {
		fmt.Fprintf(&w.out, "unknown %v\n", unknown)
	}
}

func (w *world) create(t *testing.T, input string) {
	t.Helper()
	name, as := parseAssignments(t, input)
	w.topics[name] = as
	names := w.s.TopicNames()
	w.s.SetTopics(append(names, name), map[string]TopicSnapshot{name: {ID: topicID(name), Partitions: as}})
}

func (w *world) alter(t *testing.T, args map[string]string, input string) {
	t.Helper()
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = 3
	if v, ok := args["version"]; ok {
		req.Version = int16(atoi(t, v))
	}
	req.BrokerID = int32(atoi(t, args["broker"]))
	req.BrokerEpoch = int64(atoi(t, args["brokerEpoch"]))
	for line := range strings.Lines(input) {
		req.Topics = append(req.Topics, parseProposal(t, req.Version, line))
	}
	a := w.s.AlterPartition(req)
	w.drain(t)
	resp := a.Response()
	if resp.ErrorCode != 0 {
		fmt.Fprintf(&w.out, "answer error %d\n", resp.ErrorCode)
	}
	for _, rt := range resp.Topics {
		for _, p := range rt.Partitions {
			if p.ErrorCode != 0 {
				fmt.Fprintf(&w.out, "answer %d error %d\n", p.Partition, p.ErrorCode)
				continue
			}
			fmt.Fprintf(&w.out, "answer %d leader %d epoch %d isr %v zkver %d\n", p.Partition, p.LeaderID, p.LeaderEpoch, p.ISR, p.PartitionEpoch)
		}
	}
}

func (w *world) shutdown(t *testing.T, args map[string]string) {
	t.Helper()
	id := metadata.BrokerID(atoi(t, args["broker"]))
	if err := w.s.StopBroker(id, int64(atoi(t, args["brokerEpoch"]))); err != nil {
		fmt.Fprintln(&w.out, err)
		return
	}
	w.drain(t)
	fmt.Fprintf(&w.out, "remaining %v\n", w.s.Remaining(id))
}

func (w *world) elect(t *testing.T, args map[string]string, words []string) {
	t.Helper()
	var tps []metadata.TopicPartition
	for _, word := range words {
		tps = append(tps, parseTP(t, word))
	}
	ask := w.s.ElectPreferred
	if args["type"] == "unclean" {
		ask = w.s.ElectUnclean
	}
	e := ask(tps)
	w.drain(t)
	keys := make([]metadata.TopicPartition, 0, len(e.Results))
	for tp := range e.Results {
		keys = append(keys, tp)
	}
	slices.SortFunc(keys, metadata.TopicPartition.Compare)
	for _, tp := range keys {
		fmt.Fprintf(&w.out, "result %s: %v\n", tp, e.Results[tp])
	}
}

// stopped answers the StopReplica requests of brokers, "3" well and "3!" with a storage error.
func (w *world) stopped(t *testing.T, words []string) {
	t.Helper()
	for _, word := range words {
		id, failed := strings.CutSuffix(word, "!")
		w.stops = slices.DeleteFunc(w.stops, func(r Request) bool {
			if int(r.Broker.ID) != atoi(t, id) {
				return false
			}
			req := r.Body.(*kmsg.StopReplicaRequest)
			resp := req.ResponseKind().(*kmsg.StopReplicaResponse)
			if failed {
				resp.ErrorCode = 56
			}
			w.s.StopReplicaAnswered(r.Broker.ID, req, resp)
			return true
		})
	}
}

// led answers the last LeaderAndIsr of a broker, with a storage error for the partitions named.
func (w *world) led(t *testing.T, args map[string]string, words []string) {
	t.Helper()
	id := metadata.BrokerID(atoi(t, args["broker"]))
	for _, r := range slices.Backward(w.leads) {
		if r.Broker.ID != id {
			continue
		}
		resp := r.Body.ResponseKind().(*kmsg.LeaderAndISRResponse)
		for _, ts := range r.Body.(*kmsg.LeaderAndISRRequest).TopicStates {
			rt := kmsg.NewLeaderAndISRResponseTopic()
			rt.TopicID = ts.TopicID
			for _, p := range ts.PartitionStates {
				rp := kmsg.NewLeaderAndISRResponseTopicPartition()
				rp.Partition = p.Partition
				if slices.Contains(words, fmt.Sprintf("%s-%d", ts.Topic, p.Partition)) {
					rp.ErrorCode = 56
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		w.s.LeaderAndISRAnswered(r.Broker, resp)
		return
	}
	t.Fatalf("broker %d got no LeaderAndIsr", id)
}

// external changes a state behind the controller's back.
func (w *world) external(t *testing.T, args map[string]string, word string) {
	t.Helper()
	tp := parseTP(t, word)
	li := w.states[tp]
	li.ISR = parseIDs(args["isr"])
	if v, ok := args["controllerEpoch"]; ok {
		li.ControllerEpoch = int32(atoi(t, v))
	}
	li.PartitionEpoch++
	w.states[tp] = li
}

func (w *world) print(r Request) {
	fmt.Fprintf(&w.out, "-> %d ", r.Broker.ID)
	switch req := r.Body.(type) {
	case *kmsg.LeaderAndISRRequest:
		w.leads = append(w.leads, r)
		fmt.Fprintf(&w.out, "LeaderAndIsr brokerEpoch %d", req.BrokerEpoch)
		for _, ts := range req.TopicStates {
			for _, p := range ts.PartitionStates {
				fmt.Fprintf(&w.out, " %s-%d(%s)", ts.Topic, p.Partition, printLeader(p))
			}
		}
	case *kmsg.UpdateMetadataRequest:
		live := []int32{}
		for _, b := range req.LiveBrokers {
			live = append(live, b.ID)
		}
		fmt.Fprintf(&w.out, "UpdateMetadata live %v", live)
		for _, ts := range req.TopicStates {
			for _, p := range ts.PartitionStates {
				fmt.Fprintf(&w.out, " %s-%d(leader %d epoch %d%s)", ts.Topic, p.Partition, p.Leader, p.LeaderEpoch, list(" offline", p.OfflineReplicas))
			}
		}
		if len(req.TopicStates) == 0 {
			fmt.Fprint(&w.out, " no partitions")
		}
	case *kmsg.StopReplicaRequest:
		w.stops = append(w.stops, r)
		fmt.Fprint(&w.out, "StopReplica")
		for _, ts := range req.Topics {
			for _, p := range ts.PartitionStates {
				what := "keep"
				if p.Delete {
					what = "DELETE"
				}
				fmt.Fprintf(&w.out, " %s-%d(epoch %d, %s)", ts.Topic, p.Partition, p.LeaderEpoch, what)
			}
		}
	}
	fmt.Fprintln(&w.out)
}

func printLeader(p kmsg.LeaderAndISRRequestTopicPartition) string {
	s := fmt.Sprintf("leader %d epoch %d isr %v zkver %d", p.Leader, p.LeaderEpoch, p.ISR, p.ZKVersion)
	if p.IsNew {
		s += " isNew"
	}
	if p.LeaderRecoveryState == 1 {
		s += " RECOVERING"
	}
	return s + list(" adding", p.AddingReplicas) + list(" removing", p.RemovingReplicas)
}

func list(name string, ids []int32) string {
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %v", name, ids)
}

func printState(li metadata.LeaderAndISR) string {
	s := fmt.Sprintf("leader %d epoch %d isr %v zkver %d", li.Leader, li.LeaderEpoch, li.ISR, li.PartitionEpoch)
	if li.Recovery == metadata.Recovering {
		s += " RECOVERING"
	}
	return s
}

func printAssignments(as map[int32]Assignment) string {
	var parts []string
	for n, a := range as {
		parts = append(parts, fmt.Sprintf("%d: %v%s%s", n, a.Replicas, list(" adding", ints(a.Adding)), list(" removing", ints(a.Removing))))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func topicID(name string) metadata.TopicID {
	var id metadata.TopicID
	copy(id[:], name)
	return id
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// parseBrokers reads "1 2 3@70 4/rack": the epoch is ten times the id unless given.
func parseBrokers(t *testing.T, words []string) []metadata.Broker {
	t.Helper()
	var out []metadata.Broker
	for _, word := range words {
		id, rack, _ := strings.Cut(word, "/")
		id, epoch, given := strings.Cut(id, "@")
		b := metadata.Broker{ID: metadata.BrokerID(atoi(t, id)), Rack: rack}
		b.Epoch = int64(b.ID) * 10
		if given {
			b.Epoch = int64(atoi(t, epoch))
		}
		b.Endpoints = []metadata.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "h" + id, Port: 9092}}
		out = append(out, b)
	}
	return out
}

func parseTP(t *testing.T, s string) metadata.TopicPartition {
	t.Helper()
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		t.Fatalf("%q is no partition", s)
	}
	return metadata.TopicPartition{Topic: s[:i], Partition: int32(atoi(t, s[i+1:]))}
}

func parseIDs(s string) []metadata.BrokerID {
	out := []metadata.BrokerID{}
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '[' || r == ']' || r == ' ' }) {
		n, err := strconv.Atoi(f)
		if err != nil {
			panic(err)
		}
		out = append(out, metadata.BrokerID(n))
	}
	return out
}

func parseTarget(s string) []metadata.BrokerID {
	if s == "cancel" {
		return nil
	}
	return parseIDs(s)
}

// fields reads "key=value" words.
func fields(line string) map[string]string {
	out := map[string]string{}
	for _, w := range strings.Fields(line) {
		k, v, _ := strings.Cut(w, "=")
		out[k] = v
	}
	return out
}

// parsePartition reads "a-0 replicas=1,2 leader=1 epoch=0 isr=1,2 zkver=0".
func parsePartition(t *testing.T, line string) (metadata.TopicPartition, Assignment, metadata.LeaderAndISR, bool) {
	t.Helper()
	f := fields(line)
	a := Assignment{Replicas: parseIDs(f["replicas"]), Adding: parseIDs(f["adding"]), Removing: parseIDs(f["removing"])}
	tp := parseTP(t, strings.Fields(line)[0])
	if _, known := f["leader"]; !known {
		return tp, a, metadata.LeaderAndISR{}, false
	}
	li := metadata.LeaderAndISR{
		ControllerEpoch: 1, Leader: metadata.BrokerID(atoi(t, f["leader"])), LeaderEpoch: metadata.LeaderEpoch(atoi(t, f["epoch"])),
		ISR: parseIDs(f["isr"]), PartitionEpoch: int32(atoi(t, f["zkver"])),
	}
	return tp, a, li, true
}

// parseAssignments reads lines "a-0 1,2,3" of one topic.
func parseAssignments(t *testing.T, input string) (string, map[int32]Assignment) {
	t.Helper()
	out := map[int32]Assignment{}
	var name string
	for line := range strings.Lines(input) {
		f := strings.Fields(line)
		tp := parseTP(t, f[0])
		name = tp.Topic
		out[tp.Partition] = Assignment{Replicas: parseIDs(f[1])}
	}
	return name, out
}

// parseProposal reads "a-0 epoch=0 zkver=0 isr=1,2@20 recovery=0"; a member may carry its broker epoch.
func parseProposal(t *testing.T, version int16, line string) kmsg.AlterPartitionRequestTopic {
	t.Helper()
	f := fields(line)
	tp := parseTP(t, strings.Fields(line)[0])
	rp := kmsg.NewAlterPartitionRequestTopicPartition()
	rp.Partition = tp.Partition
	rp.LeaderEpoch = int32(atoi(t, f["epoch"]))
	rp.PartitionEpoch = int32(atoi(t, f["zkver"]))
	if v, ok := f["recovery"]; ok {
		rp.LeaderRecoveryState = int8(atoi(t, v))
	}
	for _, member := range strings.Split(f["isr"], ",") {
		id, epoch, given := strings.Cut(member, "@")
		m := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		m.BrokerID, m.BrokerEpoch = int32(atoi(t, id)), -1
		if given {
			m.BrokerEpoch = int64(atoi(t, epoch))
		}
		rp.NewEpochISR = append(rp.NewEpochISR, m)
		rp.NewISR = append(rp.NewISR, m.BrokerID)
	}
	rt := kmsg.NewAlterPartitionRequestTopic()
	rt.Topic = tp.Topic
	if version >= 2 {
		rt.TopicID = topicID(tp.Topic)
	}
	rt.Partitions = append(rt.Partitions, rp)
	return rt
}
