package zkstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jackdaw/metadata"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

func TestClient_ColdStart_FastOnEmbedded(t *testing.T) {
	e := env{addr: embedded(t)}
	begin := time.Now()
	_, s := prepared(t, e.config())
	ctx := t.Context()
	_, err := s.ClusterID(ctx)
	must(t, err)
	epoch, err := s.RegisterBroker(ctx, broker(1, 1))
	if err != nil || epoch <= 0 {
		t.Fatalf("epoch %d, %v", epoch, err)
	}
	_, won, _, err := s.ElectController(ctx, 1)
	if err != nil || !won {
		t.Fatal(won, err)
	}
	took := time.Since(begin)
	t.Logf("session, registration and election: %v", took)
	if took > 3*time.Second { // some milliseconds on an idle machine; a lost wake-up would cost seconds
		t.Errorf("took %v", took)
	}
}

func TestSession_EnsurePersistentPaths_NullDataAndRepeatable(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := prepared(t, e.config())
		must(t, s.EnsurePersistentPaths(t.Context()))
		for _, p := range znode.PersistentPaths() {
			if data, st, err := s.Get(t.Context(), p); err != nil || data != nil || st.Version != 0 {
				t.Errorf("%s: %v, version %d, %v", p, data, st.Version, err)
			}
		}
	})
}

func TestSession_ClusterID_SameForAll(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, a := client(t, e.config())
		_, b := client(t, e.config())
		idA, errA := a.ClusterID(t.Context())
		idB, errB := b.ClusterID(t.Context())
		if errA != nil || errB != nil || idA != idB || len(idA) != 22 {
			t.Errorf("%q %v, %q %v", idA, errA, idB, errB)
		}
	})
}

func TestSession_GenerateBrokerID_CountsFromReserved(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := client(t, e.config())
		for _, want := range ids(1001, 1002) {
			if got, err := s.GenerateBrokerID(t.Context(), 1000); err != nil || got != want {
				t.Errorf("got %d, %v, want %d", got, err, want)
			}
		}
	})
}

func TestSession_RegisterBroker_Version1AndEpoch(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := prepared(t, e.config())
		epoch, err := s.RegisterBroker(t.Context(), broker(3, 9092))
		must(t, err)
		data, st, err := s.Get(t.Context(), "/brokers/ids/3")
		must(t, err)
		if st.Version != 1 || st.CZxid != epoch || st.EphemeralOwner != s.ID() || string(data) != string(broker(3, 9092).Encode()) {
			t.Errorf("%+v, epoch %d, %s", st, epoch, data)
		}
		again, err := s.RegisterBroker(t.Context(), broker(3, 9092))
		if err != nil || again != epoch {
			t.Errorf("own registration: %d, %v, want %d", again, err, epoch)
		}
		live, err := s.LiveBrokers(t.Context())
		if err != nil || len(live) != 1 || live[3].Epoch != epoch {
			t.Errorf("live: %+v, %v", live, err)
		}
	})
}

func TestSession_RegisterBroker_IDTaken_ClearError(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, a := prepared(t, e.config())
		_, b := client(t, e.config())
		_, err := a.RegisterBroker(t.Context(), broker(1, 9092))
		must(t, err)
		var dup *zkstore.DuplicateBrokerError
		if _, err := b.RegisterBroker(t.Context(), broker(1, 9093)); !errors.As(err, &dup) || dup.Owner != a.ID() {
			t.Errorf("got %v", err)
		}
	})
}

func TestSession_RegisterBroker_LeftByKilledProcess_ReplacedAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		ctx := t.Context()
		p := newProxy(t, e.addr)
		_, killed := prepared(t, e.through(p).config())
		first, err := killed.RegisterBroker(ctx, broker(1, 9092))
		must(t, err)
		_, won, _, err := killed.ElectController(ctx, 1)
		if err != nil || !won {
			t.Fatal(won, err)
		}
		stop := p.orphan() // as after kill -9, when nobody closes the session, and long before it expires
		defer stop()
		_, s := client(t, e.config())
		second, err := s.RegisterBroker(ctx, broker(1, 9092))
		if err != nil || second <= first {
			t.Errorf("epoch %d after %d, %v", second, first, err)
		}
		// What the killed process was, its successor may become.
		el, won, _, err := s.ElectController(ctx, 1)
		if err != nil || !won || el.Epoch != 2 {
			t.Errorf("%+v %v %v", el, won, err)
		}
	})
}

// A killed process may have sent the deletion of what it found, which is what its successor finds, too.
func TestSession_RegisterBroker_NodeDeletedLater_AnotherSessionRegisters(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, other := prepared(t, e.config())
		c := zkstore.NewClient(e.config())
		t.Cleanup(c.Close)
		epochs := make(chan int64, 8)
		c.OnSession("broker", func(ctx context.Context, s *zkstore.Session) error {
			epoch, err := s.RegisterBroker(ctx, broker(1, 9092))
			epochs <- epoch
			return err
		}, nil)
		must(t, c.Start(t.Context()))
		first := <-epochs
		must(t, other.Delete(t.Context(), "/brokers/ids/1", 1))
		if second := <-epochs; second <= first {
			t.Errorf("epoch %d after %d", second, first)
		}
		live, err := other.LiveBrokers(t.Context())
		if err != nil || live[1].Epoch <= first {
			t.Errorf("live: %+v, %v", live, err)
		}
	})
}

func TestSession_RegisterBroker_LeftElsewhere_WaitsForExpiry(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		far := broker(1, 9092)
		far.Endpoints[0].Host = "192.0.2.1" // of no machine
		p := newProxy(t, e.addr)
		_, killed := prepared(t, e.through(p).short())
		first, err := killed.RegisterBroker(t.Context(), far)
		must(t, err)
		p.close()
		_, s := client(t, e.short())
		second, err := s.RegisterBroker(t.Context(), far)
		if err != nil || second <= first {
			t.Errorf("epoch %d after %d, %v", second, first, err)
		}
	})
}

func TestSession_ElectController_OneWinsAndLoserIsFenced(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		ctx := t.Context()
		_, a := prepared(t, e.config())
		_, b := client(t, e.config())
		ea, won, who, err := a.ElectController(ctx, 1)
		if err != nil || !won || who != 1 || ea != (zkstore.Election{Epoch: 1, EpochZKVersion: 1}) {
			t.Fatalf("%+v %v %d %v", ea, won, who, err)
		}
		if _, won, who, err := b.ElectController(ctx, 2); err != nil || won || who != 1 {
			t.Fatalf("%v %d %v", won, who, err)
		}
		wa := a.Controller(ea)
		must(t, a.CreateTopic(ctx, "t", znode.TopicAssignment{Partitions: map[int32][]metadata.BrokerID{0: ids(1, 2)}}, nil))
		tp := metadata.TopicPartition{Topic: "t"}
		state := metadata.LeaderAndISR{ControllerEpoch: 1, Leader: 1, ISR: ids(1, 2)}
		res, err := wa.CreatePartitionStates(ctx, []zkstore.PartitionWrite{{TP: tp, State: state}})
		if err != nil || res[0].Err != nil {
			t.Fatalf("%+v %v", res, err)
		}
		must(t, a.Resign(ctx, ea))
		eb, won, _, err := b.ElectController(ctx, 2)
		if err != nil || !won || eb.Epoch != 2 {
			t.Fatalf("%+v %v %v", eb, won, err)
		}
		// Every write of the deposed controller is refused and changes nothing.
		state.Leader, state.ISR = 2, ids(2)
		writes := []zkstore.PartitionWrite{{TP: tp, State: state}}
		for name, f := range map[string]func() error{
			"set states":    func() error { return second(wa.SetPartitionStates(ctx, writes)) },
			"create states": func() error { return second(wa.CreatePartitionStates(ctx, writes)) },
			"set topic":     func() error { return second(wa.SetTopicAssignment(ctx, "t", znode.TopicAssignment{}, -1)) },
			"delete topic":  func() error { return wa.DeleteTopicNodes(ctx, "t") },
			"delete path":   func() error { return wa.DeletePath(ctx, "/controller") },
			"set path":      func() error { return wa.SetPath(ctx, "/x", nil) },
			"resign":        func() error { return a.Resign(ctx, ea) },
		} {
			if err := f(); !errors.Is(err, zkstore.ErrControllerMoved) {
				t.Errorf("%s: %v", name, err)
			}
		}
		got, err := a.PartitionStates(ctx, []metadata.TopicPartition{tp, {Topic: "t", Partition: 1}})
		if err != nil || len(got) != 1 || got[tp].Leader != 1 || got[tp].PartitionEpoch != 0 {
			t.Errorf("%+v %v", got, err)
		}
		if who, err := a.CurrentController(ctx); err != nil || who != 2 {
			t.Errorf("controller %d, %v", who, err)
		}
	})
}

func TestSession_ElectController_ManyAtOnce_OneEpochEach(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		const n = 6
		var sessions [n]*zkstore.Session
		for i := range sessions {
			_, sessions[i] = client(t, e.config())
		}
		var mu sync.Mutex
		winners := 0
		var wg sync.WaitGroup
		for i, s := range sessions {
			wg.Go(func() {
				_, won, who, err := s.ElectController(t.Context(), metadata.BrokerID(i))
				mu.Lock()
				defer mu.Unlock()
				if err != nil || !won && who == metadata.NoBroker {
					t.Errorf("broker %d: %v %d %v", i, won, who, err)
				}
				if won {
					winners++
				}
			})
		}
		wg.Wait()
		epoch, version, err := sessions[0].ControllerEpoch(t.Context())
		if err != nil || winners != 1 || epoch != 1 || version != 1 {
			t.Errorf("%d winners, epoch %d at version %d, %v", winners, epoch, version, err)
		}
	})
}

// elected returns the writer of a controller.
func elected(t *testing.T, s *zkstore.Session) *zkstore.ControllerWriter {
	t.Helper()
	e, won, _, err := s.ElectController(t.Context(), 1)
	if err != nil || !won {
		t.Fatal(won, err)
	}
	return s.Controller(e)
}

func TestControllerWriter_TopicLife_ThousandPartitions(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		ctx := t.Context()
		_, s := prepared(t, e.config())
		w := elected(t, s)
		const n = 1000
		a := znode.TopicAssignment{TopicID: metadata.TopicID{1}, Partitions: map[int32][]metadata.BrokerID{}}
		writes := make([]zkstore.PartitionWrite, n)
		tps := make([]metadata.TopicPartition, n)
		for i := range writes {
			a.Partitions[int32(i)] = ids(1, 2, 3)
			tps[i] = metadata.TopicPartition{Topic: "big", Partition: int32(i)}
			writes[i] = zkstore.PartitionWrite{TP: tps[i], State: metadata.LeaderAndISR{ControllerEpoch: 1, Leader: 1, ISR: ids(1, 2, 3)}}
		}
		must(t, s.CreateTopic(ctx, "big", a, map[string]string{"retention.ms": "5"}))
		if err := s.CreateTopic(ctx, "big", a, nil); !errors.Is(err, zkstore.ErrNodeExists) {
			t.Errorf("second create: %v", err)
		}
		begin := time.Now()
		res, err := w.CreatePartitionStates(ctx, writes)
		must(t, err)
		t.Logf("%d states created in %v", n, time.Since(begin))
		for _, r := range res {
			must(t, r.Err)
		}
		// A creation that was cut off is finished; what was there is told.
		res, err = w.CreatePartitionStates(ctx, writes[:2])
		if err != nil || !errors.Is(res[0].Err, zkstore.ErrNodeExists) || !errors.Is(res[1].Err, zkstore.ErrNodeExists) {
			t.Errorf("%+v %v", res, err)
		}
		must(t, s.Delete(ctx, znode.StatePath(tps[1]), -1))
		res, err = w.CreatePartitionStates(ctx, writes[:2])
		if err != nil || !errors.Is(res[0].Err, zkstore.ErrNodeExists) || res[1].Err != nil {
			t.Errorf("%+v %v", res, err)
		}
		writes[1].State.PartitionEpoch = 7
		res, err = w.SetPartitionStates(ctx, writes[:3])
		if err != nil || res[0].Version != 1 || !errors.Is(res[1].Err, zkstore.ErrBadVersion) || res[2].Version != 1 {
			t.Errorf("%+v %v", res, err)
		}
		states, err := s.PartitionStates(ctx, tps)
		if err != nil || len(states) != n || states[tps[0]].PartitionEpoch != 1 {
			t.Errorf("%d states, %v", len(states), err)
		}
		nodes, err := s.TopicAssignments(ctx, []string{"big", "none"}, false)
		must(t, err)
		if d := cmp.Diff(a.Partitions, nodes["big"].Partitions); d != "" || len(nodes) != 1 || nodes["big"].TopicID != a.TopicID {
			t.Errorf("%d nodes\n%s", len(nodes), d)
		}
		must(t, s.RequestTopicDeletion(ctx, "big"))
		if err := s.RequestTopicDeletion(ctx, "big"); !errors.Is(err, zkstore.ErrNodeExists) {
			t.Errorf("second request: %v", err)
		}
		must(t, w.DeleteTopicNodes(ctx, "big"))
		for _, p := range []string{"/brokers/topics/big", "/config/topics/big", "/admin/delete_topics/big"} {
			if exists, _, err := s.Exists(ctx, p); exists || err != nil {
				t.Errorf("%s: %v %v", p, exists, err)
			}
		}
		must(t, w.DeleteTopicNodes(ctx, "big"))
	})
}

func TestControllerWriter_Notifications_ReadAndGone(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		ctx := t.Context()
		_, s := prepared(t, e.config())
		w := elected(t, s)
		must(t, s.NotifyLogDirFailure(ctx, 3))
		must(t, s.NotifyLogDirFailure(ctx, 4))
		must(t, s.NotifyLogDirFailure(ctx, 3))
		tps := []metadata.TopicPartition{{Topic: "a", Partition: 1}}
		_, err := s.Create(ctx, znode.IsrChangePrefix, znode.EncodeIsrChange(tps), zkstore.PersistentSequential)
		must(t, err)
		brokers, err := w.TakeLogDirEvents(ctx)
		if err != nil || !slices.Equal(brokers, ids(3, 4)) {
			t.Errorf("%v %v", brokers, err)
		}
		changed, err := w.TakeIsrChanges(ctx)
		if err != nil || !slices.Equal(changed, tps) {
			t.Errorf("%v %v", changed, err)
		}
		for _, p := range []string{znode.LogDirEventPath, znode.IsrChangePath} {
			if kids, _, err := s.Children(ctx, p); err != nil || len(kids) != 0 {
				t.Errorf("%s: %v %v", p, kids, err)
			}
		}
	})
}

func TestSession_EntityConfig_WrittenAndNotified(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := prepared(t, e.config())
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		told := make(chan string, 16)
		var wg sync.WaitGroup
		defer wg.Wait()
		must(t, s.SetEntityConfig(ctx, "topics", "old", map[string]string{"a": "1"}))
		wg.Go(func() {
			if err := s.WatchConfigChanges(ctx, func(typ, name string) { told <- typ + "/" + name }); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		defer stop()
		expect(t, told, "topics/old")
		must(t, s.SetEntityConfig(ctx, "users", "alice/clients/app", map[string]string{"producer_byte_rate": "1"}))
		expect(t, told, "users/alice/clients/app")
		elected(t, s)
		must(t, s.SetEntityConfig(ctx, "topics", "old", map[string]string{"a": "2"}))
		expect(t, told, "topics/old")
		must(t, s.SetEntityConfig(ctx, "brokers", znode.DefaultEntity, nil))
		expect(t, told, "brokers/<default>")
		got, err := s.EntityConfig(ctx, "topics", "old")
		if err != nil || got["a"] != "2" {
			t.Errorf("%v %v", got, err)
		}
		all, err := s.EntityConfigs(ctx, "topics")
		if err != nil || len(all) != 1 {
			t.Errorf("%v %v", all, err)
		}
		if none, err := s.TopicConfigs(ctx, []string{"none"}); err != nil || len(none["none"]) != 0 {
			t.Errorf("%v %v", none, err)
		}
		data, _, err := s.Get(ctx, "/config/changes/config_change_0000000001")
		if err != nil || string(data) != `{"version":2,"entity_path":"users/alice/clients/app"}` {
			t.Errorf("%s %v", data, err)
		}
	})
}

func expect(t *testing.T, ch <-chan string, want string) {
	t.Helper()
	select {
	case got := <-ch:
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("no %q", want)
	}
}

func TestSession_AllocateProducerIDs_NeverTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, a := prepared(t, e.config())
		_, b := client(t, e.config())
		var mu sync.Mutex
		seen := map[int64]bool{}
		var wg sync.WaitGroup
		for i, s := range []*zkstore.Session{a, b} {
			wg.Go(func() {
				for range 10 {
					first, count, err := s.AllocateProducerIDs(t.Context(), metadata.BrokerID(i))
					mu.Lock()
					if err != nil || count != 1000 || seen[first] {
						t.Errorf("%d %d %v", first, count, err)
					}
					seen[first] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for i := range int64(20) {
			if !seen[i*1000] {
				t.Errorf("block %d was skipped", i)
			}
		}
	})
}

func TestSession_EnsureFeature_AsKafka(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := client(t, e.config())
		must(t, s.EnsureFeature(t.Context()))
		must(t, s.EnsureFeature(t.Context()))
		data, _, err := s.Get(t.Context(), "/feature")
		if err != nil || string(data) != `{"features":{},"version":2,"status":1}` {
			t.Errorf("%s %v", data, err)
		}
	})
}

func TestParseConnect_Forms(t *testing.T) {
	for in, want := range map[string]string{
		"a:1":                 "[a:1] ",
		"a, b:2 ,c/kafka":     "[a:2181 b:2 c:2181] /kafka",
		"a:1/":                "[a:1] ",
		"[::1],[::1]:5/x/y":   "[[::1]:2181 [::1]:5] /x/y",
		"zk1:2181,zk2:2181/k": "[zk1:2181 zk2:2181] /k",
	} {
		servers, chroot, err := zkstore.ParseConnect(in)
		if got := fmt.Sprintf("%v %s", servers, chroot); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", in, got, err, want)
		}
	}
	if _, _, err := zkstore.ParseConnect(" , /x"); err == nil {
		t.Error("no server was taken")
	}
}

func TestSession_ConsumerOffset_StoredAsKafkaDid(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := prepared(t, e.config())
		tp := metadata.TopicPartition{Topic: "a", Partition: 3}
		if _, ok, err := s.ConsumerOffset(t.Context(), "g", tp); ok || err != nil {
			t.Fatal(ok, err)
		}
		for _, offset := range []int64{7, 1 << 40} {
			must(t, s.SetConsumerOffset(t.Context(), "g", tp, offset))
			if got, ok, err := s.ConsumerOffset(t.Context(), "g", tp); got != offset || !ok || err != nil {
				t.Errorf("got %d, %v, %v, want %d", got, ok, err, offset)
			}
		}
		data, _, err := s.Get(t.Context(), "/consumers/g/offsets/a/3")
		if string(data) != "1099511627776" || err != nil {
			t.Errorf("znode holds %q, %v", data, err)
		}
	})
}
