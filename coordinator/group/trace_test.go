package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/shardtest"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// TestShard_Traces runs the scenarios of testdata: one request or step a block, and below it what was written, answered
// and, after an "advance", what happened at which time. #N is the N-th request; ids of members are client-N.
func TestShard_Traces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			h := newHarness()
			datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				h.run(t, d)
				out := h.out.String()
				h.out.Reset()
				return out
			})
		})
	}
}

// harness is a shard with a log that never fails unless told to, and a clock that stands still.
type harness struct {
	shardtest.Driver[*Shard]
	cfg    Config
	ticket coordinator.Ticket
	ids    int
	reject error // of the next append
	out    strings.Builder
	image  *metadata.Image
}

var epoch = time.UnixMilli(1_000_000)

func newHarness() *harness {
	h := &harness{cfg: DefaultConfig(), image: metadata.NewImage()}
	h.Shard, h.Now = NewShard(h.cfg), epoch
	h.Refuse = func() error {
		err := h.reject
		h.reject = nil
		return err
	}
	h.Wrote = func(at int64, w coordinator.Write, r coordinator.Record) {
		h.printf("write %d: %s", at, recordString(r, w.Transactional))
	}
	h.Replied = func(r coordinator.Reply) { h.printf("#%d %s", r.To, replyString(r.Body)) }
	h.Skipped = func(at int64, err error) { h.printf("skipped %d: %v", at, err) }
	h.Around = h.dated
	h.Start()
	return h
}

func (h *harness) printf(format string, args ...any) { fmt.Fprintf(&h.out, format+"\n", args...) }

// dated puts the time above what a tick prints.
func (h *harness) dated(tick func()) {
	before := h.out.String()
	h.out.Reset()
	tick()
	text := h.out.String()
	h.out.Reset()
	h.out.WriteString(before)
	if text != "" {
		h.printf("at %v:", h.Now.Sub(epoch))
		h.out.WriteString(text)
	}
}

// args are the arguments of a step.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a args) str(key, def string) string {
	for _, c := range a.d.CmdArgs {
		if c.Key == key {
			if len(c.Vals) == 0 {
				return ""
			}
			return strings.Join(c.Vals, ",")
		}
	}
	return def
}

func (a args) has(key string) bool { return a.d.HasArg(key) }

func (a args) ptr(key string) *string {
	if !a.has(key) {
		return nil
	}
	v := a.str(key, "")
	return &v
}

func (a args) num(key string, def int64) int64 {
	v := a.str(key, strconv.FormatInt(def, 10))
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		a.t.Fatalf("%s: %s: %v", a.d.Pos, key, err)
	}
	return n
}

func (a args) dur(key string, def time.Duration) time.Duration {
	d, err := time.ParseDuration(a.str(key, def.String()))
	if err != nil {
		a.t.Fatalf("%s: %s: %v", a.d.Pos, key, err)
	}
	return d
}

// list splits a,b,c.
func (a args) list(key string) []string {
	v := a.str(key, "")
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

func (a args) tps(key string) []metadata.TopicPartition {
	var out []metadata.TopicPartition
	for _, s := range a.list(key) {
		out = append(out, parseTP(s))
	}
	return out
}

func parseTP(s string) metadata.TopicPartition {
	i := strings.LastIndexByte(s, '-')
	n, _ := strconv.Atoi(s[i+1:])
	return metadata.TopicPartition{Topic: s[:i], Partition: int32(n)}
}

func (a args) member() MemberRequest {
	return MemberRequest{
		Group: a.str("g", "g"), MemberID: a.str("id", ""), InstanceID: a.ptr("instance"), Generation: int32(a.num("gen", -1)),
	}
}

func (h *harness) run(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	a := args{t, d}
	if h.step(a) {
		return
	}
	h.ticket++
	n := h.ticket
	switch d.Cmd {
	case "join":
		h.ids++
		h.Do(h.Shard.Join(h.Now, n, joinArgs(h, a, h.ids)))
	case "sync":
		h.Do(h.Shard.Sync(h.Now, n, syncArgs(a)))
	case "heartbeat":
		h.Do(h.Shard.Heartbeat(h.Now, n, a.member()))
	case "leave":
		var ms []LeavingMember
		for _, id := range a.list("ids") {
			ms = append(ms, LeavingMember{MemberID: id, InstanceID: a.ptr("instance")})
		}
		for _, i := range a.list("instances") {
			ms = append(ms, LeavingMember{InstanceID: &i})
		}
		h.Do(h.Shard.Leave(h.Now, n, a.str("g", "g"), ms))
	case "commit":
		h.Do(h.Shard.Commit(h.Now, n, commitArgs(a)))
	case "fetch":
		h.Do(h.Shard.Fetch(h.Now, n, FetchRequest{
			Group: a.str("g", "g"), MemberID: a.ptr("id"), MemberEpoch: int32(a.num("epoch", -1)), TPs: a.tps("tps"), All: a.has("all"), Stable: a.has("stable"),
		}))
	case "describe":
		h.Do(h.Shard.Describe(h.Now, n, a.str("g", "g")))
	case "list":
		h.Do(h.Shard.List(h.Now, n, a.list("states"), a.list("types")))
	case "delete":
		h.Do(h.Shard.Delete(h.Now, n, a.str("g", "g")))
	case "delete-offsets":
		h.Do(h.Shard.DeleteOffsets(h.Now, n, a.str("g", "g"), a.tps("tps")))
	default:
		if !h.consumerRequest(a, n) {
			t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
		}
	}
}

// step runs a command that is not a request.
func (h *harness) step(a args) bool {
	switch a.d.Cmd {
	case "config":
		h.cfg.InitialRebalanceDelay = a.dur("delay", h.cfg.InitialRebalanceDelay)
		h.cfg.MaxSize = int(a.num("max-size", int64(h.cfg.MaxSize)))
		h.cfg.OffsetsRetention = a.dur("retention", h.cfg.OffsetsRetention)
		h.cfg.RetentionCheckInterval = a.dur("check", h.cfg.RetentionCheckInterval)
		h.cfg.MaxMetadata = int(a.num("max-metadata", int64(h.cfg.MaxMetadata)))
		h.cfg.Consumer.MaxSize = int(a.num("consumer-max-size", int64(h.cfg.Consumer.MaxSize)))
		h.cfg.Consumer.Migration = MigrationPolicy(a.str("migration", string(h.cfg.Consumer.Migration)))
		h.Shard.cfg = h.cfg
		h.Shard.sweep = h.Now.Add(h.cfg.RetentionCheckInterval)
	case "advance":
		h.Advance(a.dur("by", 0))
	case "hold":
		h.Hold = true
	case "release":
		h.Release()
	case "late":
		h.Late(errOf(a.str("err", "REQUEST_TIMED_OUT")))
	case "reject":
		h.reject = errOf(a.str("err", "NOT_ENOUGH_REPLICAS"))
	case "marker":
		m := coordinator.Marker{ProducerID: a.num("producer", 0), Commit: a.has("commit")}
		h.ticket++
		h.Do(h.Shard.EndTxn(h.Now, h.ticket, m.ProducerID, h.Mark(m), m.Commit))
	case "reload":
		h.Reload(NewShard(h.cfg))
	case "topics":
		h.image = h.image.Apply(topicsArg(a, h.image))
	default:
		return false
	}
	return true
}

func joinArgs(h *harness, a args, n int) JoinRequest {
	v := a.num("v", 9)
	r := JoinRequest{
		Group: a.str("g", "g"), MemberID: a.str("id", ""), InstanceID: a.ptr("instance"),
		ClientID: a.str("client", "c"), ClientHost: "/127.0.0.1",
		SessionTimeout: a.dur("session", 10*time.Second), RebalanceTimeout: a.dur("rebalance", time.Minute),
		Image: h.image, ProtocolType: a.str("type", "consumer"), RequireKnownMember: v >= 4, SkipAssignment: v >= 9, RandomID: strconv.Itoa(n),
	}
	topics := a.list("topics")
	for _, p := range strings.Split(a.str("protocols", "range"), ",") {
		if p != "" {
			r.Protocols = append(r.Protocols, Protocol{Name: p, Metadata: subscription(topics, a.tps("owned")...)})
		}
	}
	return r
}

func subscription(topics []string, owned ...metadata.TopicPartition) []byte {
	m := kmsg.ConsumerMemberMetadata{Version: 1, Topics: topics}
	for _, tp := range owned {
		m.OwnedPartitions = append(m.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: tp.Topic, Partitions: []int32{tp.Partition}})
	}
	return m.AppendTo(nil)
}

func syncArgs(a args) SyncRequest {
	r := SyncRequest{
		Group: a.str("g", "g"), MemberID: a.str("id", ""), InstanceID: a.ptr("instance"), Generation: int32(a.num("gen", 0)),
		ProtocolType: a.ptr("type"), Protocol: a.ptr("protocol"), Assignments: map[string][]byte{},
	}
	for _, s := range a.list("assign") {
		id, v, _ := strings.Cut(s, ":")
		r.Assignments[id] = []byte(v)
	}
	return r
}

func commitArgs(a args) CommitRequest {
	r := CommitRequest{MemberRequest: a.member(), KnowsEpochs: a.has("v9")}
	if a.has("producer") {
		r.Producer = &record.Producer{ID: a.num("producer", 0)}
	}
	for _, s := range a.list("offsets") {
		tp, v, _ := strings.Cut(s, ":")
		n, _ := strconv.ParseInt(v, 10, 64)
		r.Offsets = append(r.Offsets, CommitOffset{
			TP: parseTP(tp), Offset: n, LeaderEpoch: -1, Metadata: a.str("metadata", ""),
			Timestamp: a.num("timestamp", -1), Retention: a.num("retention", -1),
		})
	}
	return r
}

func errOf(name string) error {
	for code := int16(-1); code < 200; code++ {
		var ke *kerr.Error
		if errors.As(kerr.ErrorForCode(code), &ke) && ke.Message == name {
			return ke
		}
	}
	panic("no error " + name)
}

func errString(err error) string {
	if err == nil {
		return "ok"
	}
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke.Message
	}
	return err.Error()
}

func str(p *string) string {
	if p == nil {
		return "-"
	}
	return *p
}

func replyString(body any) string {
	switch r := body.(type) {
	case JoinResult:
		return joinString(r)
	case SyncResult:
		if r.Err != nil {
			return "sync " + errString(r.Err)
		}
		return fmt.Sprintf("sync ok protocol=%s assignment=%q", str(r.Protocol), r.Assignment)
	case Result:
		return errString(r.Err)
	case []error:
		var parts []string
		for _, err := range r {
			parts = append(parts, errString(err))
		}
		return strings.Join(parts, " ")
	case FetchResult:
		parts := []string{"fetched"}
		if r.Err != nil {
			parts = append(parts, errString(r.Err))
		}
		for _, o := range r.Offsets {
			if o.Err != nil {
				parts = append(parts, fmt.Sprintf("%v:%s", o.TP, errString(o.Err)))
				continue
			}
			parts = append(parts, fmt.Sprintf("%v:%d", o.TP, o.Offset))
		}
		return strings.Join(parts, " ")
	case Description:
		s := fmt.Sprintf("%s type=%q protocol=%q", r.State, r.ProtocolType, r.Protocol)
		for _, m := range r.Members {
			s += fmt.Sprintf("\n  %s instance=%s client=%s assignment=%q", m.ID, str(m.InstanceID), m.ClientID, m.Assignment)
		}
		return s
	case []Listing:
		parts := []string{"groups"}
		for _, l := range r {
			parts = append(parts, l.ID+"("+l.State+")"+strings.TrimPrefix(" "+l.Type, " "+ClassicType))
		}
		return strings.Join(parts, " ")
	case DeleteOffsetsResult:
		if r.Err != nil {
			return errString(r.Err)
		}
		return replyString(r.Errs)
	default:
		return consumerString(body)
	}
}

func joinString(r JoinResult) string {
	if r.Err != nil {
		return fmt.Sprintf("join %s id=%q", errString(r.Err), r.MemberID)
	}
	s := fmt.Sprintf("join ok id=%s gen=%d leader=%s protocol=%s", r.MemberID, r.Generation, r.Leader, str(r.Protocol))
	if r.SkipAssignment {
		s += " skip"
	}
	if r.Members != nil {
		var ids []string
		for _, m := range r.Members {
			ids = append(ids, m.MemberID)
		}
		s += " members=" + strings.Join(ids, ",")
	}
	return s
}

func recordString(r coordinator.Record, txn bool) string {
	if k := recordKind(binary.BigEndian.Uint16(r.Key)); k >= firstConsumerKind {
		return consumerRecordString(r)
	}
	kind := "offset"
	if txn {
		kind = "transactional offset"
	}
	if binary.BigEndian.Uint16(r.Key) == groupKeyVersion {
		var k kmsg.GroupMetadataKey
		mustRead(k.ReadFrom(r.Key))
		if r.Value == nil {
			return "group " + k.Group + " tombstone"
		}
		var v kmsg.GroupMetadataValue
		mustRead(v.ReadFrom(r.Value))
		s := fmt.Sprintf("group %s gen=%d protocol=%s leader=%s", k.Group, v.Generation, str(v.Protocol), str(v.Leader))
		slices.SortFunc(v.Members, func(a, b kmsg.GroupMetadataValueMember) int { return strings.Compare(a.MemberID, b.MemberID) })
		for _, m := range v.Members {
			s += fmt.Sprintf(" %s:%q", m.MemberID, m.Assignment)
		}
		return s
	}
	var k kmsg.OffsetCommitKey
	mustRead(k.ReadFrom(r.Key))
	if r.Value == nil {
		return fmt.Sprintf("%s %s %s-%d tombstone", kind, k.Group, k.Topic, k.Partition)
	}
	var v kmsg.OffsetCommitValue
	mustRead(v.ReadFrom(r.Value))
	return fmt.Sprintf("%s %s %s-%d = %d", kind, k.Group, k.Topic, k.Partition, v.Offset)
}

func mustRead(err error) {
	if err != nil {
		panic(err)
	}
}
