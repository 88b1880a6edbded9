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
	cfg      Config
	s        *Shard
	now      time.Time
	ticket   coordinator.Ticket
	ids      int
	offset   int64
	log      []logged
	inFlight []any // tags that are appended and not committed
	hold     bool
	reject   error
	out      strings.Builder
	image    *metadata.Image
}

type logged struct {
	rec    coordinator.LogRecord
	marker *coordinator.Marker
}

var epoch = time.UnixMilli(1_000_000)

func newHarness() *harness {
	cfg := DefaultConfig()
	h := &harness{cfg: cfg, now: epoch, image: metadata.NewImage()}
	h.s = NewShard(cfg)
	h.do(h.s.Loaded(h.now))
	return h
}

func (h *harness) printf(format string, args ...any) { fmt.Fprintf(&h.out, format+"\n", args...) }

func (h *harness) do(e coordinator.Effects) {
	todo := []coordinator.Effects{e}
	for len(todo) > 0 {
		e, todo = todo[0], todo[1:]
		for _, w := range e.Writes {
			todo = append(todo, h.append(w)...)
		}
		for _, r := range e.Replies {
			h.printf("#%d %s", r.To, replyString(r.Body))
		}
	}
}

func (h *harness) append(w coordinator.Write) []coordinator.Effects {
	if h.reject != nil {
		err := h.reject
		h.reject = nil
		return []coordinator.Effects{h.s.Rejected(h.now, w.Tag, err)}
	}
	first := h.offset
	for _, r := range w.Records {
		h.printf("write %d: %s", h.offset, recordString(r, w.Transactional))
		lr := coordinator.LogRecord{Offset: h.offset, Timestamp: w.Timestamp, ProducerID: -1, Key: r.Key, Value: r.Value}
		if w.Transactional {
			lr.Transactional, lr.ProducerID, lr.ProducerEpoch = true, w.Producer.ID, w.Producer.Epoch
		}
		h.log = append(h.log, logged{rec: lr})
		h.offset++
	}
	h.s.Appended(h.now, w.Tag, first)
	h.inFlight = append(h.inFlight, w.Tag)
	if h.hold {
		return nil
	}
	return h.commit()
}

func (h *harness) commit() (es []coordinator.Effects) {
	for _, tag := range h.inFlight {
		es = append(es, h.s.Committed(h.now, tag))
	}
	h.inFlight = nil
	return es
}

func (h *harness) reload() {
	h.s = NewShard(h.cfg)
	h.inFlight = nil
	for _, l := range h.log {
		if l.marker != nil {
			h.s.LoadMarker(*l.marker)
			continue
		}
		if err := h.s.Load(l.rec); err != nil {
			h.printf("skipped %d: %v", l.rec.Offset, err)
		}
	}
	h.do(h.s.Loaded(h.now))
}

func (h *harness) advance(d time.Duration) {
	end := h.now.Add(d)
	for {
		next := h.s.Deadline()
		if next.IsZero() || next.After(end) {
			break
		}
		if next.After(h.now) {
			h.now = next
		}
		before := h.out.Len()
		e := h.s.Tick(h.now)
		h.do(e)
		if h.out.Len() > before {
			text := h.out.String()
			h.out.Reset()
			h.out.WriteString(text[:before])
			h.printf("at %v:", h.now.Sub(epoch))
			h.out.WriteString(text[before:])
		}
	}
	h.now = end
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
		h.do(h.s.Join(h.now, n, joinArgs(h, a, h.ids)))
	case "sync":
		h.do(h.s.Sync(h.now, n, syncArgs(a)))
	case "heartbeat":
		h.do(h.s.Heartbeat(h.now, n, a.member()))
	case "leave":
		var ms []LeavingMember
		for _, id := range a.list("ids") {
			ms = append(ms, LeavingMember{MemberID: id, InstanceID: a.ptr("instance")})
		}
		for _, i := range a.list("instances") {
			ms = append(ms, LeavingMember{InstanceID: &i})
		}
		h.do(h.s.Leave(h.now, n, a.str("g", "g"), ms))
	case "commit":
		h.do(h.s.Commit(h.now, n, commitArgs(a)))
	case "fetch":
		h.do(h.s.Fetch(h.now, n, FetchRequest{
			Group: a.str("g", "g"), MemberID: a.ptr("id"), MemberEpoch: int32(a.num("epoch", -1)), TPs: a.tps("tps"), All: a.has("all"), Stable: a.has("stable"),
		}))
	case "describe":
		h.do(h.s.Describe(h.now, n, a.str("g", "g")))
	case "list":
		h.do(h.s.List(h.now, n, a.list("states"), a.list("types")))
	case "delete":
		h.do(h.s.Delete(h.now, n, a.str("g", "g")))
	case "delete-offsets":
		h.do(h.s.DeleteOffsets(h.now, n, a.str("g", "g"), a.tps("tps")))
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
		h.s.cfg = h.cfg
		h.s.sweep = h.now.Add(h.cfg.RetentionCheckInterval)
	case "advance":
		h.advance(a.dur("by", 0))
	case "hold":
		h.hold = true
	case "release":
		h.hold = false
		for _, e := range h.commit() {
			h.do(e)
		}
	case "late":
		for _, tag := range h.inFlight {
			h.do(h.s.Late(h.now, tag, errOf(a.str("err", "REQUEST_TIMED_OUT"))))
		}
	case "reject":
		h.reject = errOf(a.str("err", "NOT_ENOUGH_REPLICAS"))
	case "marker":
		m := coordinator.Marker{Offset: h.offset, ProducerID: a.num("producer", 0), Commit: a.has("commit")}
		h.offset++
		h.log = append(h.log, logged{marker: &m})
		h.ticket++
		h.do(h.s.EndTxn(h.now, h.ticket, m.ProducerID, m.Offset, m.Commit))
	case "reload":
		h.reload()
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
