package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"jackdaw/coordinator/group"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memLog holds the partitions of an internal topic in memory; every append is committed at once, unless it is held.
type memLog struct {
	mu      sync.Mutex
	batches map[int32][]record.Batch
	ends    map[int32]int64
	held    bool
	waiting []func(error)
	gate    chan struct{} // Load waits for it if not nil
	refuse  error         // of each append if not nil
}

func newMemLog() *memLog {
	return &memLog{batches: map[int32][]record.Batch{}, ends: map[int32]int64{}}
}

func (l *memLog) Append(
	tp metadata.TopicPartition, _ metadata.LeaderEpoch, batch []byte, _ time.Duration, done func(error),
) (int64, error) {
	l.mu.Lock()
	if l.refuse != nil {
		defer l.mu.Unlock()
		return 0, l.refuse
	}
	b := record.Batch(slices.Clone(batch))
	first := l.ends[tp.Partition]
	b.SetBaseOffset(first)
	l.ends[tp.Partition] += int64(b.Count())
	l.batches[tp.Partition] = append(l.batches[tp.Partition], b)
	held := l.held
	if held {
		l.waiting = append(l.waiting, done)
	}
	l.mu.Unlock()
	if !held {
		done(nil)
	}
	return first, nil
}

// marker appends the end of a transaction and returns its offset.
func (l *memLog) marker(partition int32, producerID int64, typ record.MarkerType) int64 {
	at, _ := l.Append(metadata.TopicPartition{Partition: partition}, 0,
		record.EndTxnMarker(typ, producerID, 0, 0, 1), 0, func(error) {})
	return at
}

func (l *memLog) hold() {
	l.mu.Lock()
	l.held = true
	l.mu.Unlock()
}

// refuseWith makes each append fail; nil ends that.
func (l *memLog) refuseWith(err error) {
	l.mu.Lock()
	l.refuse = err
	l.mu.Unlock()
}

// release commits what is held.
func (l *memLog) release() {
	l.mu.Lock()
	waiting := l.waiting
	l.held, l.waiting = false, nil
	l.mu.Unlock()
	for _, done := range waiting {
		done(nil)
	}
}

func (l *memLog) Load(ctx context.Context, tp metadata.TopicPartition, each func(record.Batch) error) (int64, error) {
	l.mu.Lock()
	batches, end, gate := slices.Clone(l.batches[tp.Partition]), l.ends[tp.Partition], l.gate
	l.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	for _, b := range batches {
		if err := each(b); err != nil {
			return 0, err
		}
	}
	return end, nil
}

// memZooKeeper keeps the offsets of version 0.
type memZooKeeper struct{ offsets map[string]int64 }

func (z *memZooKeeper) SetOffset(_ context.Context, g string, tp metadata.TopicPartition, offset int64) error {
	z.offsets[g+"/"+tp.String()] = offset
	return nil
}

func (z *memZooKeeper) Offset(_ context.Context, g string, tp metadata.TopicPartition) (int64, bool, error) {
	v, ok := z.offsets[g+"/"+tp.String()]
	return v, ok, nil
}

// world is a service in a bubble of virtual time. Topic t has partitions 0 to 9, topic u has 0; groups live in four
// partitions, all led here.
type world struct {
	t     *testing.T
	log   *memLog
	g     *Groups
	epoch metadata.LeaderEpoch
}

const testPartitions = 4

func inWorld(t *testing.T, change func(*group.Config), f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := GroupsConfig{Config: group.DefaultConfig(), Partitions: testPartitions, ZooKeeper: &memZooKeeper{map[string]int64{}}}
		cfg.InitialRebalanceDelay = 0
		if change != nil {
			change(&cfg.Config)
		}
		w := &world{t: t, log: newMemLog(), epoch: 1}
		cfg.Log = w.log
		cfg.PartitionExists = func(tp metadata.TopicPartition) bool {
			return tp.Topic == "t" && tp.Partition < 10 || tp.Topic == "u" && tp.Partition == 0
		}
		n := 0
		cfg.NewMemberID = func() string { n++; return fmt.Sprint(n) }
		w.g = NewGroups(cfg)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.g.Run(ctx) }()
		w.elect()
		f(t, w)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// elect makes this broker the coordinator of everything, in a new epoch: all is loaded from the log.
func (w *world) elect() {
	w.epoch++
	for p := range int32(testPartitions) {
		w.g.Elected(p, w.epoch)
	}
	synctest.Wait()
}

func (w *world) ctx() context.Context { return w.t.Context() }

// wantCode fails unless code is that of err.
func (w *world) wantCode(what string, code int16, want *kerr.Error) {
	w.t.Helper()
	wantCode := int16(0)
	if want != nil {
		wantCode = want.Code
	}
	if code != wantCode {
		w.t.Errorf("%s: code %d (%v), want %d", what, code, kerr.ErrorForCode(code), wantCode)
	}
}

// async runs f in the background.
func async[R any](f func() R) <-chan R {
	ch := make(chan R, 1)
	go func() { ch <- f() }()
	synctest.Wait()
	return ch
}

// pending fails if the answer is there.
func pending[R any](t *testing.T, ch <-chan R, what string) {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-ch:
		t.Fatalf("%s was answered: %+v", what, r)
	default:
	}
}

// joinReq is a join of group g with protocol range at a version.
func joinReq(version int16, memberID string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID = version, "g", memberID
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 10_000, 60_000
	r.ProtocolType = "consumer"
	r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscriptionTo("t")}}
	return r
}

func subscriptionTo(topics ...string) []byte {
	m := kmsg.ConsumerMemberMetadata{Version: 1, Topics: topics}
	return m.AppendTo(nil)
}

func (w *world) join(r *kmsg.JoinGroupRequest) <-chan *kmsg.JoinGroupResponse {
	return async(func() *kmsg.JoinGroupResponse { return w.g.Join(w.ctx(), r, "c", "/127.0.0.1") })
}

func (w *world) sync(version int16, memberID string, generation int32, assign map[string]string) <-chan *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = version, "g", memberID, generation
	if version >= syncProtocolNames {
		r.ProtocolType, r.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	}
	for id, a := range assign {
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(a)})
	}
	return async(func() *kmsg.SyncGroupResponse { return w.g.Sync(w.ctx(), r) })
}

func (w *world) heartbeat(memberID string, generation int32) int16 {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 4, "g", memberID, generation
	return w.g.Heartbeat(w.ctx(), r).ErrorCode
}

func (w *world) describe(id string) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Version, r.Groups = 5, []string{id}
	return w.g.Describe(w.ctx(), r).Groups[0]
}

// member joins alone and syncs; it returns its id. The group is Stable in this generation.
func (w *world) member(generation int32) string {
	w.t.Helper()
	j := <-w.join(joinReq(3, ""))
	w.wantCode("join", j.ErrorCode, nil)
	if j.Generation != generation {
		w.t.Fatalf("generation %d, want %d", j.Generation, generation)
	}
	s := <-w.sync(3, j.MemberID, generation, map[string]string{j.MemberID: "x"})
	w.wantCode("sync", s.ErrorCode, nil)
	return j.MemberID
}

// leave removes a member by id.
func (w *world) leave(memberID string) {
	w.t.Helper()
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group, r.MemberID = 2, "g", memberID
	w.wantCode("leave", w.g.Leave(w.ctx(), r).ErrorCode, nil)
	synctest.Wait()
}

// commitReq commits offset 5 of each partition, as a simple consumer.
func commitReq(version int16, tps ...metadata.TopicPartition) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.Generation = version, "g", -1
	for _, tp := range tps {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch = tp.Partition, 5, -1
		i := slices.IndexFunc(r.Topics, func(t kmsg.OffsetCommitRequestTopic) bool { return t.Topic == tp.Topic })
		if i < 0 {
			i = len(r.Topics)
			r.Topics = append(r.Topics, kmsg.OffsetCommitRequestTopic{Topic: tp.Topic})
		}
		r.Topics[i].Partitions = append(r.Topics[i].Partitions, p)
	}
	return r
}

func tp(topic string, partition int32) metadata.TopicPartition {
	return metadata.TopicPartition{Topic: topic, Partition: partition}
}

// codes are those of all partitions in order.
func codes(r *kmsg.OffsetCommitResponse) []int16 {
	var out []int16
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			out = append(out, p.ErrorCode)
		}
	}
	return out
}

// offset fetches one offset of group g; code is that of the partition.
func (w *world) offset(at metadata.TopicPartition, stable bool) (offset int64, code int16) {
	w.t.Helper()
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.Group, r.RequireStable = 7, "g", stable
	r.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: at.Topic, Partitions: []int32{at.Partition}}}
	resp := w.g.OffsetFetch(w.ctx(), r, FetchDenied{})
	w.wantCode("fetch", resp.ErrorCode, nil)
	p := resp.Topics[0].Partitions[0]
	return p.Offset, p.ErrorCode
}

func (w *world) wantOffset(at metadata.TopicPartition, want int64) {
	w.t.Helper()
	if got, code := w.offset(at, true); got != want || code != 0 {
		w.t.Errorf("offset of %v: %d, code %d; want %d", at, got, code, want)
	}
}

// errGone is the cause of the end of a client's context.
var errGone = errors.New("connection closed")
