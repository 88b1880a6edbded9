package log

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// joinedCase is a log with settings that make it roll at every turn, and appends of which many are refused.
type joinedCase struct {
	cfg     Config
	appends [][]byte
	epochs  []metadata.LeaderEpoch
}

func drawJoined(t *rapid.T) joinedCase {
	c := joinedCase{cfg: DefaultConfig()}
	c.cfg.SegmentBytes = rapid.Int32Range(700, 6000).Draw(t, "segment bytes")
	c.cfg.IndexBytes = rapid.Int32Range(24, 200).Draw(t, "index bytes")
	c.cfg.IndexIntervalBytes = rapid.Int32Range(0, 300).Draw(t, "interval")
	c.cfg.SegmentAge = rapid.SampledFrom([]time.Duration{Unlimited, 400 * time.Millisecond}).Draw(t, "age")
	c.cfg.TimestampType = rapid.SampledFrom([]TimestampType{CreateTime, LogAppendTime}).Draw(t, "type")
	c.cfg.CompressionType = rapid.SampledFrom([]string{CompressionProducer, "lz4"}).Draw(t, "compression")
	next := map[int64]int32{}
	epoch := metadata.LeaderEpoch(0)
	for range rapid.IntRange(1, 40).Draw(t, "appends") {
		if len(c.appends) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
			c.appends = append(c.appends, slices.Clone(rapid.SampledFrom(c.appends).Draw(t, "which")))
		} else {
			c.appends = append(c.appends, drawAppend(t, next))
		}
		if rapid.IntRange(0, 19).Draw(t, "elected") == 0 {
			epoch++
		}
		c.epochs = append(c.epochs, epoch)
	}
	return c
}

// drawAppend is a batch, rarely a damaged one or one out of its producer's order.
func drawAppend(t *rapid.T, next map[int64]int32) []byte {
	n := rapid.IntRange(1, 5).Draw(t, "records")
	o := record.BuilderOptions{}
	if id := rapid.Int64Range(0, 2).Draw(t, "producer"); id > 0 {
		o.Producer = &record.Producer{ID: id, BaseSequence: next[id]}
		o.Transactional = id == 2
		if rapid.IntRange(0, 9).Draw(t, "gap") == 0 {
			o.Producer.BaseSequence += 3
		} else {
			next[id] += int32(n)
		}
	}
	b := record.NewBuilder(record.None, o)
	for range n {
		b.Append(rapid.Int64Range(0, 1000).Draw(t, "ts"), []byte("k"), []byte(strings.Repeat("v", rapid.IntRange(0, 120).Draw(t, "bytes"))), nil)
	}
	p := b.Build()
	if rapid.IntRange(0, 14).Draw(t, "damaged") == 0 {
		p[len(p)-1] ^= 1
	}
	return p
}

// answered is what an append was told.
type answered struct {
	Info AppendInfo
	Err  string
}

func answerOf(info AppendInfo, err error) answered {
	return answered{info, fmt.Sprint(err)}
}

// run plays a case in groups of the given sizes and returns the answers and all files after a clean stop.
func (c *joinedCase) run(t *rapid.T, groups []int) (answers []answered, files map[string]string) {
	fsys := vfs.NewMem(nil)
	m := NewManager(Options{
		FS: fsys, Dirs: []string{"/data"}, Config: func(string) Config { return c.cfg }, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return testStart },
	})
	if err := m.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := m.GetOrCreate(testTP, metadata.TopicID{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(c.appends); {
		n := 1
		if len(groups) > 0 {
			n, groups = groups[0], groups[1:]
		}
		var list []LeaderAppend
		for k := i; k < len(c.appends) && k < i+n && c.epochs[k] == c.epochs[i]; k++ {
			list = append(list, LeaderAppend{Records: slices.Clone(c.appends[k])})
		}
		l.AppendAllAsLeader(list, c.epochs[i], AppendOptions{})
		for _, a := range list {
			answers = append(answers, answerOf(a.Info, a.Err))
		}
		i += len(list)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return answers, filesOf(t, fsys, filepath.Join("/data", testTP.String()))
}

func filesOf(t *rapid.T, fsys vfs.FS, dir string) map[string]string {
	list, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range list {
		b, err := vfs.ReadFile(fsys, filepath.Join(dir, e.Name))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name] = string(b)
	}
	return files
}

// Appends that are written together leave the same files, byte for byte, as one after the other, and hear the same.
func TestAppendAll_AnyGroups_SameAsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawJoined(t)
		groups := rapid.SliceOfN(rapid.IntRange(1, 9), len(c.appends), len(c.appends)).Draw(t, "groups")
		wantAnswers, wantFiles := c.run(t, nil)
		answers, files := c.run(t, groups)
		if diff := cmp.Diff(wantAnswers, answers, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(wantFiles, files); diff != "" {
			t.Fatal(diff)
		}
	})
}

// failing fails writes to .log files but for the first few.
type failing struct {
	good int
	err  error
}

func (c *failing) fault(op vfs.Op, name string) error {
	if op != vfs.OpWrite || filepath.Ext(name) != logSuffix || c.err == nil {
		return nil
	}
	if c.good--; c.good >= 0 {
		return nil
	}
	return c.err
}

// A write that fails is the answer to all that it carries, and to none that was written before.
func TestAppendAll_DiskFails_NoneOfTheWriteIsAcknowledged(t *testing.T) {
	disk := &failing{}
	f := newFixture(t, vfs.NewMem(disk.fault), nil)
	l := f.log()
	f.append(l, f.batch(1, record.BuilderOptions{}))
	one := func(seq int32) LeaderAppend {
		return LeaderAppend{Records: f.batch(1, record.BuilderOptions{Producer: &record.Producer{ID: 5, BaseSequence: seq}})}
	}
	good := []LeaderAppend{one(0), one(1), one(0)}
	l.AppendAllAsLeader(good, 0, AppendOptions{})
	for i, a := range good {
		if want := int64(1 + i%2); a.Err != nil || a.Info.FirstOffset != want {
			t.Fatalf("append %d: %+v, %v", i, a.Info, a.Err)
		}
	}
	disk.err = errors.New("broken")
	bad := []LeaderAppend{one(2), one(9), one(3), {Records: []byte("nothing")}}
	l.AppendAllAsLeader(bad, 0, AppendOptions{})
	for i, want := range []error{kerr.KafkaStorageError, kerr.OutOfOrderSequenceNumber, kerr.KafkaStorageError, kerr.InvalidRecord} {
		if !errors.Is(bad[i].Err, want) || bad[i].Info.LastOffset != 0 {
			t.Errorf("append %d: %+v, %v, want %v", i, bad[i].Info, bad[i].Err, want)
		}
	}
	if l.EndOffset() != 3 {
		t.Errorf("log end %d", l.EndOffset())
	}
	after := []LeaderAppend{one(2)}
	if l.AppendAllAsLeader(after, 0, AppendOptions{}); !errors.Is(after[0].Err, kerr.KafkaStorageError) {
		t.Error("the directory is not offline:", after[0].Err)
	}
}

// Where the segment has to be rolled in between, what is in the former one is acknowledged, whatever comes after.
func TestAppendAll_DiskFailsBehindARoll_EarlierAcknowledged(t *testing.T) {
	disk := &failing{good: 3} // in memory each piece is a write
	f := newFixture(t, vfs.NewMem(disk.fault), func(c *Config) { c.SegmentBytes = 300 })
	l := f.log()
	disk.err = errors.New("broken")
	list := make([]LeaderAppend, 6)
	for i := range list {
		list[i].Records = f.batch(1, record.BuilderOptions{}) // 85 bytes: three in a segment
	}
	l.AppendAllAsLeader(list, 0, AppendOptions{})
	for i, a := range list {
		if i < 3 && (a.Err != nil || a.Info.FirstOffset != int64(i)) || i >= 3 && !errors.Is(a.Err, kerr.KafkaStorageError) {
			t.Errorf("append %d: offset %d, %v", i, a.Info.FirstOffset, a.Err)
		}
	}
	if l.EndOffset() != 3 {
		t.Errorf("log end %d", l.EndOffset())
	}
}
