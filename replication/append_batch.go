package replication

import (
	"time"

	"jackdaw/log"
	"jackdaw/metadata"
)

// BatchAppend is a write of a coordinator to one partition.
type BatchAppend struct {
	TP metadata.TopicPartition
	// Epoch is the leader epoch in which the coordinator loaded the partition, NoEpoch for no check.
	Epoch   metadata.LeaderEpoch
	Origin  log.Origin
	Records []byte
	// Acks is -1, or 0 or 1 for a write that is done when the leader has it.
	Acks    int16
	Timeout time.Duration
	// VerifiedOnly is as in AppendRequest.
	VerifiedOnly bool
}

// AppendBatch appends and returns where. An error means that nothing was appended, and done is not called; otherwise
// done is called exactly once, inline or later: with nil when the records are acknowledged as Acks asks for, or with what
// Append would answer. Kafka: ReplicaManager.appendRecords as CoordinatorPartitionWriter uses it.
func (m *ReplicaManager) AppendBatch(b BatchAppend, done func(error)) (log.AppendInfo, error) {
	req := AppendRequest{
		Acks: b.Acks, Timeout: b.Timeout, Origin: b.Origin, Epoch: b.Epoch, VerifiedOnly: b.VerifiedOnly,
		Entries: []AppendEntry{{TP: b.TP, Records: b.Records}},
	}
	j := joinedAppends.Get().(*joinedAppend)
	defer j.recycle()
	j.layOut([]AppendCall{{Entries: req.Entries}})
	j.append(m, &req)
	results := j.results
	if err := results[0].Err; err != nil {
		return results[0].Info, err
	}
	info := results[0].Info
	m.wake(&j.wakeups)
	if b.Acks != -1 {
		done(nil)
		return info, nil
	}
	m.await(&req, results, []produceWait{{p: j.entries[0].p, term: j.entries[0].v.term, need: info.LastOffset + 1}}, func(r []AppendResult) { done(r[0].Err) })
	return info, nil
}
