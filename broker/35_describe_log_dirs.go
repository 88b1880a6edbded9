package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/internal/vfs"
	"jackdaw/log"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// DescribeLogDirs (35), v0-4. Kafka: KafkaApis.handleDescribeLogDirsRequest, ReplicaManager.describeLogDirs; KIP-113, KIP-827.
// Pipelined: no.   Cost: the hosted partitions.
func (b *Broker) handleDescribeLogDirs(r *network.Request) {
	req := r.Body.(*kmsg.DescribeLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	if b.refused(r, b.deniedCluster(r, acl.Describe)) {
		return
	}
	asked := askedPartitions(req)
	byDir := map[string][]describedLog{}
	for _, l := range b.logs.All() {
		if asked(l) {
			byDir[l.Dir()] = append(byDir[l.Dir()], describedLog{l, b.lagOf(l, false), false})
		}
	}
	for _, l := range b.logs.Futures() {
		if asked(l) {
			byDir[l.Dir()] = append(byDir[l.Dir()], describedLog{l, b.lagOf(l, true), true})
		}
	}
	live := b.logs.LiveDirs()
	for _, dir := range b.cfg.Log.Dirs {
		out := kmsg.NewDescribeLogDirsResponseDir()
		out.Dir = dir
		out.TotalBytes, out.UsableBytes = -1, -1
		if !slices.Contains(live, dir) {
			out.ErrorCode = protocol.ErrorCode(kerr.KafkaStorageError)
			resp.Dirs = append(resp.Dirs, out)
			continue
		}
		if total, usable, err := volume(dir); err == nil {
			out.TotalBytes, out.UsableBytes = total, usable
		} else {
			b.log.Warn("volume of a log directory not known", "err", err)
		}
		out.Topics = describeLogs(byDir[dir])
		resp.Dirs = append(resp.Dirs, out)
	}
	r.Respond(resp)
}

// askedPartitions tells whether a log is asked for: null asks for all.
func askedPartitions(req *kmsg.DescribeLogDirsRequest) func(*log.Log) bool {
	if req.Topics == nil {
		return func(*log.Log) bool { return true }
	}
	wanted := map[string][]int32{}
	for _, t := range req.Topics {
		wanted[t.Topic] = append(wanted[t.Topic], t.Partitions...)
	}
	return func(l *log.Log) bool { return slices.Contains(wanted[l.TP().Topic], l.TP().Partition) }
}

// describedLog is a log, or a future one.
type describedLog struct {
	*log.Log
	lag    int64
	future bool
}

// lagOf is by how much a log is behind what is committed, or a future log behind its log; -1 when no replica of the partition is
// in service here. Kafka: ReplicaManager.getLogEndOffsetLag.
func (b *Broker) lagOf(l *log.Log, future bool) int64 {
	p, err := b.replicas.Partition(l.TP())
	if err != nil {
		return -1
	}
	now := p.Log()
	switch {
	case now == nil:
		return -1
	case future:
		return now.EndOffset() - l.EndOffset()
	}
	return max(now.HighWatermark()-l.EndOffset(), 0)
}

func describeLogs(logs []describedLog) []kmsg.DescribeLogDirsResponseDirTopic {
	slices.SortFunc(logs, func(x, y describedLog) int { return x.TP().Compare(y.TP()) })
	var out []kmsg.DescribeLogDirsResponseDirTopic
	for _, l := range logs {
		tp := l.TP()
		if len(out) == 0 || out[len(out)-1].Topic != tp.Topic {
			out = append(out, kmsg.DescribeLogDirsResponseDirTopic{Topic: tp.Topic})
		}
		t := &out[len(out)-1]
		t.Partitions = append(t.Partitions, kmsg.DescribeLogDirsResponseDirTopicPartition{
			Partition: tp.Partition, Size: l.Size(), OffsetLag: l.lag, IsFuture: l.future,
		})
	}
	return out
}

// volume returns the size of the file system that holds dir, and what is free of it.
func volume(dir string) (total, usable int64, err error) {
	free, size, err := vfs.OS{}.Free(dir)
	return int64(size), int64(free), err
}
