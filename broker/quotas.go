package broker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/metadata"
	"jackdaw/quota"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// Entity types of quotas below /config. Kafka: ConfigType.
const (
	userEntity   = "users"
	clientEntity = "clients"
	ipEntity     = "ips"
	// clientsOf stands between a user and a client id in an entity name.
	clientsOf = "/clients/"
)

// quotas holds up clients that use more than they may. Without any quota it costs an atomic load a request.
// Kafka: QuotaFactory, ClientQuotaManager, ConnectionQuotas.
type quotas struct {
	log   *slog.Logger
	now   func() time.Time
	table atomic.Pointer[quota.Table]
	ips   atomic.Pointer[map[string]float64] // by address, or znode.DefaultEntity; never changed, only replaced
	// loading is held by the one who reads ZooKeeper and replaces table or ips.
	loading sync.Mutex
	rates   [quota.Request + 1]struct {
		sync.Mutex
		*quota.Meters
	}
	mutations struct {
		sync.Mutex
		*quota.Buckets
	}
	connections struct {
		sync.Mutex
		*quota.Meters
	}
	// most is max.connection.creation.rate, measured by accepted.
	most     atomic.Pointer[connectionRates]
	accepted struct {
		sync.Mutex
		*quota.Meters
	}
}

// connectionRates are the most new connections a second, of the broker and of those listeners that have a bound of their own.
type connectionRates struct {
	broker int
	of     map[string]int
}

func newQuotas(c config.Quotas, lg *slog.Logger) *quotas {
	q := &quotas{log: lg, now: time.Now}
	client := quota.Windows{Count: c.Windows, Size: c.WindowSize}
	for i := range q.rates {
		q.rates[i].Meters = quota.NewMeters(client)
	}
	q.connections.Meters, q.accepted.Meters = quota.NewMeters(client), quota.NewMeters(client)
	q.most.Store(&connectionRates{broker: math.MaxInt32})
	q.mutations.Buckets = quota.NewBuckets(quota.Windows{Count: c.ControllerWindows, Size: c.ControllerWindowSize})
	return q
}

// Load reads all quotas.
func (q *quotas) Load(ctx context.Context, session *zkstore.Session) error {
	q.loading.Lock()
	defer q.loading.Unlock()
	all, err := session.ClientQuotas(ctx)
	if err != nil {
		return fmt.Errorf("read quotas: %w", err)
	}
	clients, ips := map[quota.Entity]map[string]float64{}, map[string]float64{}
	for _, e := range all {
		values := quotaValues(e.Config)
		if limit, ok := values[quota.ConnectionKey]; ok && e.Type == ipEntity {
			for _, name := range ipNames(ctx, e.Name) {
				ips[name] = limit
			}
		}
		if entity, ok := quotaEntity(e.Type, e.Name); ok {
			clients[entity] = values
		}
	}
	q.table.Store(quota.NewTable(clients))
	q.ips.Store(&ips)
	return nil
}

// Changed reads again what a notification is about; others than quotas are left alone.
func (q *quotas) Changed(ctx context.Context, session *zkstore.Session, entityType, name string) {
	if entityType != userEntity && entityType != clientEntity && entityType != ipEntity {
		return
	}
	q.loading.Lock()
	defer q.loading.Unlock()
	settings, err := session.EntityConfig(ctx, entityType, name)
	if err != nil {
		q.log.Warn("quota not read", "type", entityType, "name", name, "err", err)
		return
	}
	values := quotaValues(settings)
	if entity, ok := quotaEntity(entityType, name); ok {
		q.table.Store(q.table.Load().With(entity, values))
		return
	}
	ips := maps.Clone(*q.ips.Load())
	for _, ip := range ipNames(ctx, name) {
		delete(ips, ip)
		if limit, ok := values[quota.ConnectionKey]; ok {
			ips[ip] = limit
		}
	}
	q.ips.Store(&ips)
}

// ipNames are the keys of an entity of type ip in quotas.ips.
func ipNames(ctx context.Context, node string) []string {
	if node == znode.DefaultEntity {
		return []string{node}
	}
	var out []string
	for _, ip := range addressesOf(ctx, node) {
		out = append(out, ip.String())
	}
	return out
}

// quotaValues takes the quotas out of a configuration. What is not a number was not written by Kafka.
func quotaValues(settings map[string]string) map[string]float64 {
	out := map[string]float64{}
	for _, key := range slices.Concat(quota.Keys[:], []string{quota.ConnectionKey}) {
		if v, err := strconv.ParseFloat(settings[key], 64); err == nil {
			out[key] = v
		}
	}
	return out
}

// quotaEntity reads the name of an entity in ZooKeeper: a user, a client id, or both as user/clients/client.
func quotaEntity(entityType, name string) (quota.Entity, bool) {
	user, client, both := strings.Cut(name, clientsOf)
	switch {
	case entityType == clientEntity:
		return quota.Entity{Client: quotaName(name)}, true
	case entityType == userEntity && both:
		return quota.Entity{User: quotaName(user), Client: quotaName(client)}, true
	case entityType == userEntity:
		return quota.Entity{User: quotaName(name)}, true
	}
	return quota.Entity{}, false
}

func quotaName(node string) quota.Name {
	if node == znode.DefaultEntity {
		return quota.Default()
	}
	return quota.Named(znode.Desanitize(node))
}

// Active tells whether there are any quotas of clients.
func (q *quotas) Active() bool { return q.table.Load().Some() }

// find returns the quota that counts for the sender of a request.
func (q *quotas) find(k quota.Kind, r *network.Request) (quota.Quota, bool) {
	table := q.table.Load()
	if !table.Any(k) {
		return quota.Quota{}, false
	}
	return table.Find(k, r.Conn.Principal().Name, r.ClientID)
}

// Use records bytes of a request, and returns for how long its sender is to be held up.
func (q *quotas) Use(k quota.Kind, r *network.Request, n int) time.Duration {
	found, ok := q.find(k, r)
	if !ok {
		return 0
	}
	m := &q.rates[k]
	m.Lock()
	defer m.Unlock()
	return m.Use(found, float64(n), q.now())
}

// Undo takes back what Use has recorded.
func (q *quotas) Undo(k quota.Kind, r *network.Request, n int) {
	if found, ok := q.find(k, r); ok {
		m := &q.rates[k]
		m.Lock()
		defer m.Unlock()
		m.Undo(found, float64(n), q.now())
	}
}

// MostFetched bounds the bytes of one answer to a consumer: more could never be sent without being held up.
// Kafka: ClientQuotaManager.getMaxValueInQuotaWindow.
func (q *quotas) MostFetched(r *network.Request, most int32) int32 {
	found, ok := q.find(quota.Fetch, r)
	if !ok {
		return most
	}
	return int32(min(float64(most), q.rates[quota.Fetch].Windows().Burst(found.Limit)))
}

// Spent records the time that a request has taken, which counts for those that follow.
func (q *quotas) Spent(r *network.Request, d time.Duration) {
	found, ok := q.find(quota.Request, r)
	if !ok || unthrottled(kmsg.Key(r.Key)) || waits(kmsg.Key(r.Key)) {
		return
	}
	m := &q.rates[quota.Request]
	m.Lock()
	defer m.Unlock()
	m.Use(found, 100*d.Seconds(), q.now())
}

// RequestDelay tells for how long the sender of a request is to be held up for the time that it has used. It is at most
// one window. Kafka: ClientRequestQuotaManager.
func (q *quotas) RequestDelay(r *network.Request) time.Duration {
	found, ok := q.find(quota.Request, r)
	if !ok || unthrottled(kmsg.Key(r.Key)) {
		return 0
	}
	m := &q.rates[quota.Request]
	m.Lock()
	defer m.Unlock()
	return min(m.Use(found, 0, q.now()), m.Windows().Size)
}

// unthrottled tells which requests are exempt: those of brokers among themselves, and of logins.
func unthrottled(k kmsg.Key) bool {
	switch k {
	case kmsg.LeaderAndISR, kmsg.StopReplica, kmsg.UpdateMetadata, kmsg.ControlledShutdown, kmsg.WriteTxnMarkers, kmsg.AlterPartition,
		kmsg.AllocateProducerIDs, kmsg.SASLHandshake, kmsg.SASLAuthenticate:
		return true
	default:
		return false
	}
}

// waits tells which handlers wait for others before they return: their time is not the sender's.
func waits(k kmsg.Key) bool {
	switch k {
	case kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetCommit, kmsg.TxnOffsetCommit, kmsg.CreateTopics, kmsg.DeleteTopics, kmsg.CreatePartitions,
		kmsg.ElectLeaders, kmsg.DeleteRecords, kmsg.InitProducerID, kmsg.EndTxn, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.Metadata:
		return true
	default:
		return false
	}
}

// mutation charges a request for the partitions that it creates or deletes. Kafka: ControllerMutationQuota.
type mutation struct {
	q      *quotas
	r      *network.Request
	strict bool
	delay  time.Duration
}

// newMutation is for requests that are refused, from a version on, when the quota is used up; before they are only held up.
func (q *quotas) newMutation(r *network.Request, strictFrom int16) *mutation {
	return &mutation{q: q, r: r, strict: r.Version >= strictFrom}
}

// Charge spends n partitions. The error is kerr.ThrottlingQuotaExceeded.
func (m *mutation) Charge(n int) error {
	found, ok := m.q.find(quota.Mutation, m.r)
	if !ok {
		return nil
	}
	all := &m.q.mutations
	all.Lock()
	defer all.Unlock()
	if !m.strict {
		m.delay = max(m.delay, all.Use(found, float64(n), m.q.now()))
		return nil
	}
	if d := all.TryUse(found, float64(n), m.q.now()); d > 0 {
		m.delay = max(m.delay, d)
		return kerr.ThrottlingQuotaExceeded
	}
	return nil
}

// partitionCount is the number of partitions of a topic, 0 for nil.
func partitionCount(t *metadata.Topic) int {
	if t == nil {
		return 0
	}
	return len(t.Partitions)
}

// Throttle holds the sender up; it comes before the answer.
func (m *mutation) Throttle() { m.r.Throttle(m.delay) }

// Connected records a new connection of an address, and returns for how long that has to wait: such a connection is
// closed after the delay, and does not count. It is at most one window. Kafka: ConnectionQuotas.recordIpConnectionMaybeThrottle.
func (q *quotas) Connected(ip netip.Addr) time.Duration {
	ips := q.ips.Load()
	if ips == nil || len(*ips) == 0 {
		return 0
	}
	name := ip.String()
	limit, ok := (*ips)[name]
	if !ok {
		limit, ok = (*ips)[znode.DefaultEntity]
	}
	if !ok {
		return 0
	}
	m := &q.connections
	m.Lock()
	defer m.Unlock()
	of := quota.Quota{Key: quota.Key{Client: name}, Limit: limit}
	d := m.Use(of, 1, q.now())
	if d > 0 {
		m.Undo(of, 1, q.now())
	}
	return min(d, m.Windows().Size)
}

// Accepted records a new connection, and returns how long its listener is to take in no other. counts tells whether the
// bound of the broker is for this listener, too. Kafka: ConnectionQuotas, max.connection.creation.rate; KIP-612.
func (q *quotas) Accepted(listener string, counts bool) time.Duration {
	most := q.most.Load()
	own, bounded := most.of[listener]
	counts = counts && most.broker < math.MaxInt32
	if !counts && !bounded {
		return 0
	}
	m := &q.accepted
	m.Lock()
	defer m.Unlock()
	var d time.Duration
	if counts {
		d = m.Use(quota.Quota{Limit: float64(most.broker)}, 1, q.now())
	}
	if bounded {
		d = max(d, m.Use(quota.Quota{Key: quota.Key{Client: listener, OfClient: true}, Limit: float64(own)}, 1, q.now()))
	}
	return min(d, m.Windows().Size)
}
