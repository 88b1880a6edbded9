package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

// soon is within what a change of settings has to be in effect, on a machine that has other things to do.
const soon = 10 * time.Second

// eventually calls check until it is content.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(soon); time.Now().Before(end); pause(t) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// produceLarge produces one record that a client of the default size would not send.
func produceLarge(t *testing.T, r *running, topic string, size int) error {
	t.Helper()
	client := r.client(t, kgo.ProducerBatchMaxBytes(8<<20), kgo.RecordRetries(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	defer client.Close()
	return client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: make([]byte, size)}).FirstErr()
}

func alterTopic(t *testing.T, admin *kadm.Client, topic, key, value string) {
	t.Helper()
	resp, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: key, Value: &value}}, topic)
	if err == nil {
		err = resp[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
}

// alterBroker changes a setting of one broker, or with no id of all.
func alterBroker(t *testing.T, admin *kadm.Client, op kadm.IncrementalOp, key, value string, ids ...int32) error {
	t.Helper()
	resp, err := admin.AlterBrokerConfigs(t.Context(), []kadm.AlterConfig{{Op: op, Name: key, Value: &value}}, ids...)
	if err != nil {
		return err
	}
	return resp[0].Err
}

func TestDynamicConfig_MaxMessageBytes_CountsAtOnceAndAfterRestart(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir)
	createTopic(t, r, "own", 1)
	createTopic(t, r, "common", 1)
	admin := kadm.NewClient(r.client(t))
	const size = 2_000_000
	for _, topic := range []string{"own", "common"} {
		if err := produceLarge(t, r, topic, size); !errors.Is(err, kerr.MessageTooLarge) {
			t.Fatalf("%s: %d bytes by default: %v", topic, size, err)
		}
	}
	alterTopic(t, admin, "own", "max.message.bytes", "3000000")
	eventually(t, "the topic's own bound", func() error { return produceLarge(t, r, "own", size) })
	if err := produceLarge(t, r, "common", size); !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("the other topic: %v", err)
	}
	if err := alterBroker(t, admin, kadm.SetConfig, "message.max.bytes", "4000000"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the default of all brokers", func() error { return produceLarge(t, r, "common", 3_500_000) })
	r.end(t)

	again := start(t, dir)
	if err := produceLarge(t, again, "common", 3_500_000); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if err := produceLarge(t, again, "own", 3_500_000); !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("the topic's own bound after a restart: %v", err)
	}
}

func TestDynamicConfig_BeforeTheStart_LimitsConnections(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir)
	admin := kadm.NewClient(r.client(t))
	if err := alterBroker(t, admin, kadm.SetConfig, "max.connections.per.ip.overrides", "127.0.0.1:0", 7); err != nil {
		t.Fatal(err)
	}
	served := func(r *running) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return r.client(t).Ping(ctx)
	}
	eventually(t, "no further connection", func() error {
		if served(r) == nil {
			return errors.New("a new connection is served")
		}
		return nil
	})
	if err := alterBroker(t, admin, kadm.DeleteConfig, "max.connections.per.ip.overrides", "", 7); err != nil {
		t.Fatalf("on the connection that was there before: %v", err)
	}
	eventually(t, "connections again", func() error { return served(r) })
}

func TestDynamicConfig_ConnectionRate_SlowsTheAcceptor(t *testing.T) {
	r := start(t, t.TempDir(), "quota.window.num=1")
	admin := kadm.NewClient(r.client(t))
	for _, key := range []string{"max.connection.creation.rate", "listener.name.plaintext.max.connection.creation.rate"} {
		if err := alterBroker(t, admin, kadm.SetConfig, key, "5", 7); err != nil {
			t.Fatal(err)
		}
		eventually(t, "connections that come slowly by "+key, func() error {
			began := time.Now()
			for range 12 {
				if err := r.client(t).Ping(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took < time.Second {
				return errors.New("12 connections in " + took.String())
			}
			return nil
		})
		if err := alterBroker(t, admin, kadm.DeleteConfig, key, "", 7); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDynamicConfig_ChangesAtTheSameTime_NoneIsLost(t *testing.T) {
	r := start(t, t.TempDir())
	createTopic(t, r, "t", 1)
	keys := []string{"retention.ms", "retention.bytes", "segment.ms", "flush.ms", "max.message.bytes", "delete.retention.ms", "index.interval.bytes", "segment.jitter.ms"}
	var group errgroup.Group
	for _, key := range keys {
		admin, value := kadm.NewClient(r.client(t)), "60000"
		group.Go(func() error {
			resp, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: key, Value: &value}}, "t")
			if err != nil {
				return err
			}
			return resp[0].Err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	all, err := kadm.NewClient(r.client(t)).DescribeTopicConfigs(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, c := range all[0].Configs {
		if c.Source == kmsg.ConfigSourceDynamicTopicConfig {
			own++
		}
	}
	if own != len(keys) {
		t.Errorf("%d of %d settings are there", own, len(keys))
	}
}

func TestDynamicListeners_AddressOfOneThatStays_IsRefused(t *testing.T) {
	r := start(t, t.TempDir())
	admin := kadm.NewClient(r.client(t))
	err := alterBroker(t, admin, kadm.SetConfig, "listeners", "PLAINTEXT://127.0.0.1:1", 7)
	if !errors.Is(err, kerr.InvalidRequest) {
		t.Errorf("got %v", err)
	}
}

// TestDynamicListeners_AddedAndRemoved_RegisteredAtOnce adds a listener without a restart: it is bound, registered and told to
// clients; it goes again, with its connections; and what is in ZooKeeper counts at the next start.
func TestDynamicListeners_AddedAndRemoved_RegisteredAtOnce(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir)
	admin := kadm.NewClient(r.client(t))
	main := r.Endpoints()[0]
	set := func(key, value string) kadm.AlterConfig {
		return kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: &value}
	}
	alter := func(changes ...kadm.AlterConfig) {
		t.Helper()
		resp, err := admin.AlterBrokerConfigs(t.Context(), changes, 7)
		if err == nil {
			err = resp[0].Err
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	listening := func(r *running, n int) {
		t.Helper()
		eventually(t, "listeners", func() error {
			if got := len(r.Endpoints()); got != n {
				return fmt.Errorf("%d listeners, want %d", got, n)
			}
			return nil
		})
	}
	second := func(r *running) *kgo.Client {
		e := r.Endpoints()[1]
		return r.client(t, kgo.SeedBrokers(net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))))
	}
	told := func(r *running) {
		t.Helper()
		// The controller tells the new endpoint once it has seen the registration.
		eventually(t, "metadata by the new listener", func() error {
			m, err := kadm.NewClient(second(r)).BrokerMetadata(t.Context())
			if err == nil && (len(m.Brokers) != 1 || m.Brokers[0].Port != r.Endpoints()[1].Port) {
				err = fmt.Errorf("brokers %+v", m.Brokers)
			}
			return err
		})
	}
	alter(set("listeners", "PLAINTEXT://127.0.0.1:0,SECOND://127.0.0.1:0"), set("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT"))
	listening(r, 2)
	told(r)
	r.end(t)

	again := start(t, dir)
	if got := again.Endpoints(); len(got) != 2 || got[0].Listener != main.Listener {
		t.Fatalf("after a restart: %v", got)
	}
	told(again)
	removed := second(again)
	if err := removed.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	admin = kadm.NewClient(again.client(t))
	alter(kadm.AlterConfig{Op: kadm.DeleteConfig, Name: "listeners"})
	listening(again, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := removed.Ping(ctx); err == nil {
		t.Error("the removed listener still answers")
	}
	if err := again.client(t).Ping(t.Context()); err != nil {
		t.Errorf("the other listener: %v", err)
	}
}

// setQuota gives the client id "limited" a quota, or with 0 none.
func setQuota(t *testing.T, admin *kadm.Client, key string, value float64) {
	t.Helper()
	name := "limited"
	entry := kadm.AlterClientQuotaEntry{
		Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &name}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: key, Value: value, Remove: value == 0}},
	}
	resp, err := admin.AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{entry})
	if err == nil {
		err = resp[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestQuota_ProducerAboveIt_IsHeldUpAndAlone(t *testing.T) {
	r := start(t, t.TempDir(), "quota.window.num=2")
	createTopic(t, r, "t", 1)
	admin := kadm.NewClient(r.client(t))
	setQuota(t, admin, "producer_byte_rate", 50_000)
	throttle := func(id string) int32 {
		client := r.client(t, kgo.ClientID(id))
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = 1, 1000
		req.Topics = []kmsg.ProduceRequestTopic{{Topic: "nope", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, 100_000)}}}}
		resp, err := client.Broker(7).Request(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		client.Close()
		return resp.(*kmsg.ProduceResponse).ThrottleMillis
	}
	eventually(t, "a throttle of about a second", func() error {
		if ms := throttle("limited"); ms < 500 {
			return errors.New("throttled for " + strconv.Itoa(int(ms)) + " ms")
		}
		return nil
	})
	if ms := throttle("other"); ms != 0 {
		t.Errorf("another client is held up for %d ms", ms)
	}
	setQuota(t, admin, "producer_byte_rate", 0)
	eventually(t, "no throttle", func() error {
		if ms := throttle("limited"); ms > 0 {
			return errors.New("still throttled")
		}
		return nil
	})
}

// A hundred connections that are held up keep nobody else waiting, and none of them is lost.
func TestQuota_HundredConnectionsHeldUp_OthersAreServed(t *testing.T) {
	r := start(t, t.TempDir(), "quota.window.num=2")
	admin := kadm.NewClient(r.client(t))
	setQuota(t, admin, "producer_byte_rate", 100_000)
	request := func() *kmsg.ProduceRequest { // one for each client, which sets its version
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = 1, 1000
		req.Topics = []kmsg.ProduceRequestTopic{{Topic: "nope", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, 10_000)}}}}
		return req
	}
	eventually(t, "the quota", func() error {
		client := r.client(t, kgo.ClientID("limited"))
		defer client.Close()
		resp, err := client.Broker(7).Request(t.Context(), request())
		if err == nil && resp.(*kmsg.ProduceResponse).ThrottleMillis == 0 {
			err = errors.New("not held up")
		}
		return err
	})
	clients := make([]*kgo.Client, 100)
	var group errgroup.Group
	for i := range clients {
		clients[i] = r.client(t, kgo.ClientID("limited"))
		group.Go(func() error {
			resp, err := clients[i].Broker(7).Request(t.Context(), request())
			if err == nil && resp.(*kmsg.ProduceResponse).ThrottleMillis == 0 {
				err = errors.New("not held up")
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	resp, err := r.client(t).Broker(7).Request(ctx, request())
	if err != nil || resp.(*kmsg.ProduceResponse).ThrottleMillis > 0 {
		t.Errorf("another client: %v, %v", resp, err)
	}
	setQuota(t, admin, "producer_byte_rate", 0)
}

func TestQuota_ConsumerAboveIt_SkipsNothing(t *testing.T) {
	r := start(t, t.TempDir(), "quota.window.num=2")
	createTopic(t, r, "t", 1)
	client := r.client(t)
	const records = 300
	for range records / 100 {
		batch := make([]*kgo.Record, 100)
		for i := range batch {
			batch[i] = &kgo.Record{Topic: "t", Value: make([]byte, 1000)}
		}
		if err := client.ProduceSync(t.Context(), batch...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	setQuota(t, kadm.NewClient(client), "consumer_byte_rate", 200_000)
	eventually(t, "a consumer that is held up", func() error {
		if consumeThrottled(t, r, records) == 0 {
			return errors.New("never throttled")
		}
		return nil
	})
}

// consumeThrottled reads all records as the limited client, and returns for how long it was held up.
func consumeThrottled(t *testing.T, r *running, records int64) (throttled time.Duration) {
	t.Helper()
	var sum atomic.Int64
	consumer := r.client(t, kgo.ClientID("limited"), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(64<<10), kgo.WithHooks(throttleHook(func(d time.Duration) { sum.Add(int64(d)) })))
	defer consumer.Close()
	next := int64(0)
	for next < records {
		fetches := consumer.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(rec *kgo.Record) {
			if rec.Offset != next {
				t.Fatalf("offset %d, want %d", rec.Offset, next)
			}
			next++
		})
	}
	return time.Duration(sum.Load())
}

// throttleHook is told of each throttle that the broker asks for.
type throttleHook func(time.Duration)

func (f throttleHook) OnBrokerThrottle(_ kgo.BrokerMetadata, d time.Duration, _ bool) { f(d) }

func TestQuota_MutationsUsedUp_NewVersionsAreRefused(t *testing.T) {
	r := start(t, t.TempDir(), "controller.quota.window.num=1")
	client := r.client(t, kgo.ClientID("limited"))
	setQuota(t, kadm.NewClient(r.client(t)), "controller_mutation_rate", 1)
	n := 0
	create := func(version int16) *kmsg.CreateTopicsResponse {
		n++
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 10000
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t"+strconv.Itoa(n), 3, 1
		req.Topics = append(req.Topics, topic)
		resp, err := client.Broker(7).Request(t.Context(), pinned{req, version})
		if err != nil {
			t.Fatal(err)
		}
		return resp.(*kmsg.CreateTopicsResponse)
	}
	eventually(t, "a refusal", func() error {
		if resp := create(7); resp.Topics[0].ErrorCode != kerr.ThrottlingQuotaExceeded.Code || resp.ThrottleMillis == 0 {
			return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
		}
		return nil
	})
	if resp := create(5); resp.Topics[0].ErrorCode != 0 || resp.ThrottleMillis == 0 {
		t.Errorf("v5: error %d, throttle %d ms; want it done and held up", resp.Topics[0].ErrorCode, resp.ThrottleMillis)
	}
}

func TestQuota_ConnectionsOfAnAddress_AreClosedAfterAWait(t *testing.T) {
	r := start(t, t.TempDir(), "quota.window.num=2")
	admin := kadm.NewClient(r.client(t))
	ip := "127.0.0.1"
	resp, err := admin.AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: "ip", Name: &ip}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: "connection_creation_rate", Value: 1}},
	}})
	if err != nil || resp[0].Err != nil {
		t.Fatal(err, resp)
	}
	e := r.Endpoints()[0]
	addr := net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
	eventually(t, "a connection that is closed", func() error {
		closed, refused := make(chan error, 5), false
		for range cap(closed) {
			go func() { closed <- closedSoon(addr) }()
		}
		var kept error
		for range cap(closed) {
			if err := <-closed; err == nil {
				refused = true
			} else {
				kept = err
			}
		}
		if refused {
			return nil
		}
		return kept
	})
}

// closedSoon connects, and returns nil when the broker closes the connection within a second or so.
func closedSoon(addr string) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	if err := nc.SetReadDeadline(time.Now().Add(1500 * time.Millisecond)); err != nil {
		return err
	}
	if _, err = nc.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the connection is kept")
	}
	return nil
}
