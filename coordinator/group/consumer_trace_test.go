package group

import (
	"fmt"
	"strconv"
	"strings"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group/assignor"
	"jackdaw/metadata"
)

// consumerRequest runs the requests of KIP-848 in traces. Topics are named in ids: the id of topic t is "t" and zeros.
func (h *harness) consumerRequest(a args, n coordinator.Ticket) bool {
	switch a.d.Cmd {
	case "beat":
		h.Do(h.Shard.ConsumerHeartbeat(h.Now, n, h.beatArgs(a)))
	case "describe-consumer":
		h.Do(h.Shard.DescribeConsumer(h.Now, n, a.str("g", "g")))
	default:
		return false
	}
	return true
}

// beatArgs reads a heartbeat. One that joins is complete by default.
func (h *harness) beatArgs(a args) ConsumerHeartbeatRequest {
	h.ids++
	r := ConsumerHeartbeatRequest{
		Group: a.str("g", "g"), MemberID: a.str("id", ""), NewID: "m" + strconv.Itoa(h.ids), Epoch: int32(a.num("epoch", 0)),
		InstanceID: a.ptr("instance"), Rack: a.ptr("rack"), Assignor: a.ptr("assignor"),
		ClientID: "c", ClientHost: "/127.0.0.1", RebalanceTimeoutMs: -1, Image: h.image,
	}
	if a.has("topics") {
		r.Topics = append([]string{}, a.list("topics")...)
	}
	if a.has("owned") {
		r.Owned = partitionsArg(a.tps("owned"))
	}
	if r.Epoch == 0 && r.Owned == nil {
		r.Owned = assignor.Partitions{}
	}
	if r.Epoch == 0 || a.has("rebalance") {
		r.RebalanceTimeoutMs = int32(a.dur("rebalance", 60e9).Milliseconds())
	}
	return r
}

func topicID(name string) (id metadata.TopicID) {
	copy(id[:], name)
	return id
}

func topicName(id metadata.TopicID) string { return strings.TrimRight(string(id[:]), "\x00") }

func partitionsArg(tps []metadata.TopicPartition) assignor.Partitions {
	out := assignor.Partitions{}
	for _, tp := range tps {
		out.Add(topicID(tp.Topic), tp.Partition)
	}
	return out
}

// topicsArg reads "t=3": t has three partitions from now on; "t=0": it is deleted. A topic may be given another id: "t=3/u".
func topicsArg(a args, image *metadata.Image) metadata.Update {
	u := metadata.Update{}
	for _, arg := range a.d.CmdArgs {
		v, id, other := strings.Cut(arg.Vals[0], "/")
		if !other {
			id = arg.Key
		}
		t := metadata.Topic{Name: arg.Key, ID: topicID(id), Partitions: map[int32]metadata.Partition{}}
		n, err := strconv.Atoi(v)
		if err != nil {
			a.t.Fatal(err)
		}
		for p := range int32(n) {
			t.Partitions[p] = metadata.Partition{}
		}
		if old, ok := image.Topic(t.Name); ok && n == 0 {
			for p := range old.Partitions {
				t.Partitions[p] = metadata.Partition{LeaderAndISR: metadata.LeaderAndISR{Leader: metadata.LeaderDuringDelete}}
			}
		}
		u.Topics = append(u.Topics, t)
	}
	return u
}

func partitionsString(p assignor.Partitions) string {
	var parts []string
	for _, t := range p.Topics() {
		for _, n := range p[t] {
			parts = append(parts, fmt.Sprintf("%s-%d", topicName(t), n))
		}
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func consumerString(body any) string {
	switch r := body.(type) {
	case ConsumerHeartbeatResult:
		if r.Err != nil {
			return "beat " + errString(r.Err)
		}
		s := fmt.Sprintf("beat ok id=%s epoch=%d", r.MemberID, r.Epoch)
		if r.Assigned != nil {
			s += " assigned=" + partitionsString(r.Assigned)
		}
		return s
	case ConsumerDescription:
		if r.Err != nil {
			return errString(r.Err)
		}
		s := fmt.Sprintf("%s epoch=%d target=%d assignor=%s", r.State, r.Epoch, r.TargetEpoch, r.Assignor)
		for _, m := range r.Members {
			s += fmt.Sprintf("\n  %s epoch=%d instance=%s topics=%v assigned=%s target=%s", m.ID, m.Epoch, str(m.InstanceID), m.Topics,
				partitionsString(m.Assigned), partitionsString(m.Target))
		}
		return s
	default:
		return fmt.Sprintf("%T %v", body, body)
	}
}

func consumerRecordString(r coordinator.Record) string {
	id, rec, err := decodeConsumerRecord(coordinator.LogRecord{Key: r.Key, Value: r.Value})
	mustRead(err)
	names := map[recordKind]string{
		kindEpoch: "epoch", kindTopics: "topics", kindMember: "member", kindTargetEpoch: "target-epoch", kindTarget: "target", kindCurrent: "current",
	}
	s := names[rec.kind] + " " + id
	if rec.kind.ofMember() {
		s += "/" + rec.member
	}
	switch v := rec.value.(type) {
	case nil:
		return s + " tombstone"
	case epochValue:
		return fmt.Sprintf("%s %d", s, v)
	case topicsValue:
		for _, name := range sortedKeys(v) {
			s += fmt.Sprintf(" %s=%d", name, v[name].partitions)
		}
	case *memberMetadata:
		s += fmt.Sprintf(" instance=%s topics=%v", str(v.instanceID), v.topics)
		if v.classic != nil {
			s += " classic"
		}
	case targetValue:
		s += " " + partitionsString(assignor.Partitions(v))
	case currentValue:
		s += fmt.Sprintf(" epoch=%d previous=%d state=%d %s", v.epoch, v.previousEpoch, v.state, partitionsString(v.assigned))
		if len(v.revoking) > 0 {
			s += " revoking=" + partitionsString(v.revoking)
		}
	}
	return s
}
