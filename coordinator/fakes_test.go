package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeLog is a log of one partition in memory. Appends are committed at once, or, when held, by commit.
type fakeLog struct {
	mu      sync.Mutex
	batches [][]byte
	next    int64
	held    bool
	done    []func(error)
	refuse  error
	epochs  []metadata.LeaderEpoch
	loading chan struct{} // Load waits for it if not nil
	loadErr []error       // of the next loads
	loads   int
}

func (f *fakeLog) Append(
	_ metadata.TopicPartition, epoch metadata.LeaderEpoch, batch []byte, _ time.Duration, done func(error),
) (int64, error) {
	f.mu.Lock()
	if f.refuse != nil {
		defer f.mu.Unlock()
		return 0, f.refuse
	}
	b := record.Batch(slices.Clone(batch))
	first := f.next
	b.SetBaseOffset(first)
	f.next += int64(b.Count())
	f.batches = append(f.batches, b)
	f.epochs = append(f.epochs, epoch)
	held := f.held
	if held {
		f.done = append(f.done, done)
	}
	f.mu.Unlock()
	if !held {
		done(nil)
	}
	return first, nil
}

// settle calls the i-th held done.
func (f *fakeLog) settle(i int, err error) {
	f.mu.Lock()
	done := f.done[i]
	f.mu.Unlock()
	done(err)
}

func (f *fakeLog) Load(ctx context.Context, _ metadata.TopicPartition, each func(record.Batch) error) (int64, error) {
	f.mu.Lock()
	f.loads++
	batches, end, gate := slices.Clone(f.batches), f.next, f.loading
	var err error
	if len(f.loadErr) > 0 {
		err, f.loadErr = f.loadErr[0], f.loadErr[1:]
	}
	f.mu.Unlock()
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
	return end, err
}

func (f *fakeLog) hold() {
	f.mu.Lock()
	f.held = true
	f.mu.Unlock()
}

func (f *fakeLog) failWith(err error) {
	f.mu.Lock()
	f.refuse = err
	f.mu.Unlock()
}

// testShard keeps a list of words: appended ones, and the committed among them.
type testShard struct {
	mu        sync.Mutex // the test looks in
	committed []string
	events    []string
	deadline  time.Time
	badKeys   int
}

type testWrite struct {
	word   string
	ticket Ticket
}

func (s *testShard) note(format string, args ...any) {
	s.mu.Lock()
	s.events = append(s.events, fmt.Sprintf(format, args...))
	s.mu.Unlock()
}

func (s *testShard) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

func (s *testShard) Load(r LogRecord) error {
	if string(r.Key) == "bad" {
		s.badKeys++
		return errors.New("bad key")
	}
	s.committed = append(s.committed, string(r.Key))
	return nil
}

func (s *testShard) LoadMarker(m Marker) { s.note("marker %d %v", m.ProducerID, m.Commit) }

func (s *testShard) Loaded(time.Time) Effects {
	s.note("loaded")
	return Effects{}
}

func (s *testShard) Appended(_ time.Time, tag any, offset int64) {
	s.note("appended %s at %d", tag.(*testWrite).word, offset)
}

func (s *testShard) Rejected(_ time.Time, tag any, err error) Effects {
	s.note("rejected %s", tag.(*testWrite).word)
	return Effects{Replies: []Reply{{tag.(*testWrite).ticket, err}}}
}

func (s *testShard) Late(_ time.Time, tag any, err error) Effects {
	s.note("late %s", tag.(*testWrite).word)
	return Effects{Replies: []Reply{{tag.(*testWrite).ticket, err}}}
}

func (s *testShard) Committed(_ time.Time, tag any) Effects {
	w := tag.(*testWrite)
	s.note("committed %s", w.word)
	s.committed = append(s.committed, w.word)
	e := Effects{Replies: []Reply{{w.ticket, nil}}}
	if w.word == "chain" {
		e.Writes = []Write{{Records: []Record{{Key: []byte("link")}}, Tag: &testWrite{word: "link"}}}
	}
	return e
}

func (s *testShard) Deadline() time.Time { return s.deadline }

func (s *testShard) Tick(time.Time) Effects {
	s.note("tick")
	s.deadline = time.Time{}
	return Effects{}
}

// put is an operation that writes a word.
func put(word string) Operation[*testShard] {
	return func(_ *testShard, now time.Time, t Ticket) Effects {
		return Effects{Writes: []Write{{
			Records: []Record{{Key: []byte(word)}}, Timestamp: now.UnixMilli(), Tag: &testWrite{word, t},
		}}}
	}
}

// words is an operation that reads.
func words(s *testShard, _ time.Time, t Ticket) Effects {
	return Effects{Replies: []Reply{{t, slices.Clone(s.committed)}}}
}
