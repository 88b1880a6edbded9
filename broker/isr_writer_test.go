package broker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/replication"
	"jackdaw/zkstore"
)

// fakeStates is one state znode of each partition, by version.
type fakeStates struct {
	mu        sync.Mutex
	versions  map[metadata.TopicPartition]int32
	fail      error
	announced [][]metadata.TopicPartition
}

func (f *fakeStates) WriteState(_ context.Context, tp metadata.TopicPartition, s metadata.LeaderAndISR) (int32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.versions[tp]
	switch {
	case f.fail != nil:
		return 0, f.fail
	case !ok:
		return 0, zkstore.ErrNoNode
	case v != s.PartitionEpoch:
		return 0, zkstore.ErrBadVersion
	}
	f.versions[tp]++
	return v + 1, nil
}

func (f *fakeStates) Announce(_ context.Context, tps []metadata.TopicPartition) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	slices.SortFunc(tps, metadata.TopicPartition.Compare)
	f.announced = append(f.announced, tps)
	return nil
}

// told returns the announcements so far.
func (f *fakeStates) told() [][]metadata.TopicPartition {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.announced)
}

func (f *fakeStates) setFail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = err
}

// writeISR runs f beside an isrWriter in virtual time.
func writeISR(t *testing.T, f func(w *isrWriter, store *fakeStates, propose func(p int32, version int32) (metadata.LeaderAndISR, error))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStates{versions: map[metadata.TopicPartition]int32{{Topic: "a", Partition: 0}: 7, {Topic: "a", Partition: 1}: 3}}
		w := newISRWriter(nil, time.Now, slog.New(slog.DiscardHandler))
		w.store = store
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- w.Run(ctx) }()
		f(w, store, func(p, version int32) (metadata.LeaderAndISR, error) {
			type result struct {
				s   metadata.LeaderAndISR
				err error
			}
			got := make(chan result, 1)
			w.Propose(replication.Proposal{
				TP:    metadata.TopicPartition{Topic: "a", Partition: p},
				State: metadata.LeaderAndISR{Leader: 1, ISR: []metadata.BrokerID{1, 2}, PartitionEpoch: version},
			}, func(s metadata.LeaderAndISR, err error) { got <- result{s, err} })
			r := <-got
			return r.s, r.err
		})
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

func TestISRWriter_WritesAndTellsTheControllerAfterAQuietTime(t *testing.T) {
	writeISR(t, func(_ *isrWriter, store *fakeStates, propose func(int32, int32) (metadata.LeaderAndISR, error)) {
		s, err := propose(0, 7)
		if err != nil || s.PartitionEpoch != 8 || !slices.Equal(s.ISR, []metadata.BrokerID{1, 2}) {
			t.Fatalf("got %+v, %v", s, err)
		}
		if _, err := propose(1, 3); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		if len(store.told()) > 0 {
			t.Error("the controller was told before the changes were over")
		}
		time.Sleep(5 * time.Second)
		if len(store.told()) != 1 || len(store.told()[0]) != 2 {
			t.Errorf("announced %v, want both partitions at once", store.told())
		}
		time.Sleep(time.Minute)
		if len(store.told()) != 1 {
			t.Errorf("announced %v, want nothing twice", store.told())
		}
	})
}

func TestISRWriter_ChangesWithoutEnd_ToldAfterAMinute(t *testing.T) {
	writeISR(t, func(_ *isrWriter, store *fakeStates, propose func(int32, int32) (metadata.LeaderAndISR, error)) {
		for i := range int32(35) {
			if _, err := propose(0, 7+i); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		if len(store.told()) != 1 {
			t.Errorf("announced %d times in 70 s, want once", len(store.told()))
		}
	})
}

func TestISRWriter_OtherVersion_RefusedAndControllerTold(t *testing.T) {
	writeISR(t, func(_ *isrWriter, store *fakeStates, propose func(int32, int32) (metadata.LeaderAndISR, error)) {
		if _, err := propose(0, 6); !errors.Is(err, kerr.InvalidUpdateVersion) {
			t.Errorf("got %v, want INVALID_UPDATE_VERSION", err)
		}
		time.Sleep(10 * time.Second)
		if len(store.told()) != 1 {
			t.Errorf("announced %v", store.told())
		}
		if _, err := propose(9, 0); !errors.Is(err, kerr.UnknownTopicOrPartition) {
			t.Errorf("got %v, want UNKNOWN_TOPIC_OR_PARTITION", err)
		}
	})
}

func TestISRWriter_SessionLost_NothingIsKnownAndAnnouncedLater(t *testing.T) {
	writeISR(t, func(_ *isrWriter, store *fakeStates, propose func(int32, int32) (metadata.LeaderAndISR, error)) {
		if _, err := propose(0, 7); err != nil {
			t.Fatal(err)
		}
		store.setFail(zkstore.ErrSessionExpired)
		var ke *kerr.Error
		if _, err := propose(0, 8); err == nil || errors.As(err, &ke) {
			t.Errorf("got %v, want an error that tells nothing of the outcome", err)
		}
		time.Sleep(20 * time.Second)
		store.setFail(nil)
		time.Sleep(3 * time.Second)
		if len(store.told()) != 1 {
			t.Errorf("announced %v, want the first change", store.told())
		}
	})
}
