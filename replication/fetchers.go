package replication

import (
	"fmt"
	"sync"

	"jackdaw/internal/run"
	"jackdaw/metadata"
)

// followed is a partition to be fetched from a leader in one leader epoch.
type followed struct {
	p       *Partition
	leader  metadata.BrokerID
	epoch   metadata.LeaderEpoch
	topicID metadata.TopicID
}

// fetcherKey names a fetcher: the leader broker and the number among the connections to it.
type fetcherKey struct {
	leader metadata.BrokerID
	n      int
}

// fetchers owns the fetcher goroutines. Partitions may be given to it before start: they are fetched from then on.
// Kafka: ReplicaFetcherManager.
type fetchers struct {
	m  *ReplicaManager
	mu struct {
		sync.Mutex
		group   *run.Group // nil before start
		byKey   map[fetcherKey]*fetcher
		byTP    map[metadata.TopicPartition]*fetcher
		perLead int // connections to each leader
		stopped bool
	}
}

func newFetchers(m *ReplicaManager) *fetchers {
	f := &fetchers{m: m}
	f.mu.byKey = map[fetcherKey]*fetcher{}
	f.mu.byTP = map[metadata.TopicPartition]*fetcher{}
	f.mu.perLead = m.cfg.NumFetchers
	return f
}

// start lets the fetchers run in g, those that are there and those to come.
func (f *fetchers) start(g *run.Group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.group = g
	if f.mu.stopped {
		return
	}
	for _, x := range f.mu.byKey {
		f.launchLocked(x)
	}
}

func (f *fetchers) launchLocked(x *fetcher) {
	x.launched = true
	f.mu.group.Go(x.key.name(), x.run)
}

// stop ends all fetchers; none is started afterwards. It returns those to be waited for.
func (f *fetchers) stop() []*fetcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.stopped = true
	var running []*fetcher
	for _, x := range f.mu.byKey {
		x.end()
		if x.launched {
			running = append(running, x)
		}
	}
	return running
}

// apply moves partitions: first those that are no longer followed, then those that are followed anew. Fetchers that have
// nothing left to do end.
func (f *fetchers) apply(follow []followed, unfollow []metadata.TopicPartition) {
	if len(follow)+len(unfollow) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, tp := range unfollow {
		f.removeLocked(tp)
	}
	for _, fo := range follow {
		f.addLocked(fo)
	}
	f.endIdleLocked()
}

// resize spreads the partitions over n connections to each leader. Kafka: AbstractFetcherManager.resizeThreadPool.
func (f *fetchers) resize(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.perLead = n
	for tp, x := range f.mu.byTP {
		if fo, ok := x.followed(tp); ok && fetcherNumber(tp, n) != x.key.n {
			f.addLocked(fo)
		}
	}
	f.endIdleLocked()
}

// remove ends the fetching of a partition. A fetch of it that is under way is dropped when it returns.
func (f *fetchers) remove(tp metadata.TopicPartition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removeLocked(tp)
	f.endIdleLocked()
}

func (f *fetchers) removeLocked(tp metadata.TopicPartition) {
	if x := f.mu.byTP[tp]; x != nil {
		x.remove(tp)
		delete(f.mu.byTP, tp)
	}
}

func (f *fetchers) addLocked(fo followed) {
	key := fetcherKey{fo.leader, fetcherNumber(fo.p.tp, f.mu.perLead)}
	if old := f.mu.byTP[fo.p.tp]; old != nil && old.key != key {
		f.removeLocked(fo.p.tp)
	}
	if f.mu.stopped {
		return
	}
	x := f.mu.byKey[key]
	if x == nil {
		x = newFetcher(f.m, key)
		f.mu.byKey[key] = x
		if f.mu.group != nil {
			f.launchLocked(x)
		}
	}
	f.mu.byTP[fo.p.tp] = x
	x.add(fo)
}

func (f *fetchers) endIdleLocked() {
	for key, x := range f.mu.byKey {
		if x.idle() {
			x.end()
			delete(f.mu.byKey, key)
		}
	}
}

// fetcherNumber spreads partitions over the connections to one leader. Kafka: AbstractFetcherManager.getFetcherId.
func fetcherNumber(tp metadata.TopicPartition, n int) int {
	h := int32(0)
	for _, r := range tp.Topic {
		h = 31*h + r
	}
	h = 31*h + tp.Partition
	return int(uint32(h)&0x7fffffff) % n
}

// maxLag returns by how many records the worst follower on this broker is behind its leader.
func (f *fetchers) maxLag() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	worst := int64(0)
	for _, x := range f.mu.byKey {
		worst = max(worst, x.maxLag())
	}
	return worst
}

// failed returns how many partitions are no longer fetched after an error of their own.
func (f *fetchers) failed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, x := range f.mu.byKey {
		n += x.failed()
	}
	return n
}

// name is that of the goroutine.
func (k fetcherKey) name() string { return fmt.Sprintf("replica-fetcher-%d-%d", k.leader, k.n) }
