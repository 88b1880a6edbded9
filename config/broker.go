package config

import (
	"path/filepath"
	"time"

	"jackdaw/metadata"
)

// Broker is the configuration of a broker in the types that the code works with. Every field names its key or is named
// by it. Kafka: KafkaConfig.
type Broker struct {
	// ID is broker.id, or NoBroker when it is to be taken from meta.properties or generated.
	ID metadata.BrokerID
	// GenerateID allows ids from ZooKeeper's sequence; they start above ReservedMaxID.
	GenerateID    bool
	ReservedMaxID int32
	// Rack is empty when there is none.
	Rack string
	// IBP is inter.broker.protocol.version in full.
	IBP Version

	// AutoCreateTopics and DeleteTopics are auto.create.topics.enable and delete.topic.enable.
	AutoCreateTopics bool
	DeleteTopics     bool
	// NumPartitions and ReplicationFactor are for topics that do not say.
	NumPartitions     int32
	ReplicationFactor int32
	// FetchMaxBytes caps one answer to a consumer; FetchSessions is the size of the session cache (KIP-227).
	FetchMaxBytes int32
	FetchSessions int

	// ControlledShutdown moves leaders away before a stop, in Retries attempts with Backoff between them.
	ControlledShutdown bool
	ShutdownRetries    int
	ShutdownBackoff    time.Duration

	ZooKeeper     ZooKeeper
	Network       Network
	Replication   Replication
	Controller    Controller
	Groups        Groups
	Transactions  Transactions
	Log           Log
	Quotas        Quotas
	Admin         Admin
	Authorization Authorization

	// settings are the parsed values, for the defaults of topics.
	settings map[string]any
}

// Network is about listeners, connections and sockets.
type Network struct {
	// Listeners are the addresses to bind. Port 0 takes any free one.
	Listeners []metadata.Endpoint
	// Advertised are the addresses that others are told. AdvertisedSet is false when they were derived from Listeners;
	// a port 0 among them is then to be replaced by the bound one.
	Advertised    []metadata.Endpoint
	AdvertisedSet bool
	// InterBroker names the listener that brokers use between them.
	InterBroker string
	// Security is what protects each listener, by its name.
	Security map[string]Security
	// FailedAuthenticationDelay is how long a client waits for the answer that it is not who it says.
	FailedAuthenticationDelay time.Duration

	RequestMaxBytes int // socket.request.max.bytes
	// QueuedMaxBytes bounds the memory of requests in work; below 1 is no bound.
	QueuedMaxBytes            int64
	MaxIdle                   time.Duration // connections.max.idle.ms; negative is never
	SendBuffer, ReceiveBuffer int           // bytes; -1 leaves the system's
	MaxConnections            int
	// MaxConnectionsOf are listener.name.<name>.max.connections, by listener name.
	MaxConnectionsOf            map[string]int
	MaxConnectionsPerIP         int
	MaxConnectionsPerIPOverride map[string]int
	// MaxConnectionRate bounds new connections a second, MaxConnectionRateOf those of a listener.
	MaxConnectionRate   int
	MaxConnectionRateOf map[string]int
	// RequestTimeout bounds the answer to a request that this broker sends; ConnectTimeout a connection attempt, and
	// after failures up to ConnectTimeoutMax.
	RequestTimeout    time.Duration
	ConnectTimeout    time.Duration
	ConnectTimeoutMax time.Duration
}

// Replication is about followers and the ISR.
type Replication struct {
	LagTimeMax            time.Duration // replica.lag.time.max.ms
	FetchWaitMax          time.Duration
	FetchBackoff          time.Duration
	FetchMinBytes         int32
	FetchMaxBytes         int32 // of one partition
	FetchResponseMaxBytes int32
	NumFetchers           int // for each leader broker
	SocketTimeout         time.Duration
	ReceiveBuffer         int // bytes; -1 leaves the system's
	HWCheckpointInterval  time.Duration
	// RackAware is replica.selector.class: consumers are sent to the replica in their rack.
	RackAware bool
	// LeaderRate and FollowerRate are the bytes a second of throttled replicas, MaxInt64 for no limit; they are measured over
	// ThrottleWindows.
	LeaderRate, FollowerRate int64
	ThrottleWindows          Windows
	// MoveRate is the same of what is copied between log directories, measured over MoveWindows.
	MoveRate    int64
	MoveWindows Windows
	NumMovers   int // num.replica.alter.log.dirs.threads
}

// Windows are what a rate is measured over.
type Windows struct {
	Count int
	Size  time.Duration
}

// Controller is about the controller's own work.
type Controller struct {
	AutoRebalance     bool
	FastFailover      bool
	ImbalancePercent  int
	ImbalanceInterval time.Duration
	SocketTimeout     time.Duration
}

// Groups is about consumer groups and __consumer_offsets.
type Groups struct {
	MinSessionTimeout     time.Duration
	MaxSessionTimeout     time.Duration
	InitialRebalanceDelay time.Duration
	MaxSize               int
	MetadataMaxBytes      int // of one offset commit
	CommitTimeout         time.Duration
	CommitAcks            int16
	Retention             time.Duration // of offsets, after the group became empty
	RetentionInterval     time.Duration
	Partitions            int32
	ReplicationFactor     int16
	SegmentBytes          int32
	CompressionCodec      int8 // 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd
	Consumer              ConsumerGroups
}

// Transactions is about producer ids, transactional ids and __transaction_state.
type Transactions struct {
	ProducerExpiration     time.Duration
	ProducerExpiryInterval time.Duration
	MaxTimeout             time.Duration
	IDExpiration           time.Duration
	IDExpiryInterval       time.Duration
	// Verify asks the transaction coordinator before the first batch of a transaction is taken (KIP-890).
	Verify                bool
	AbortTimedOutInterval time.Duration
	Partitions            int32
	ReplicationFactor     int16
	MinISR                int32
	SegmentBytes          int32
}

// Log is about data directories and the work on logs. Settings that a topic can override are in Topic.
type Log struct {
	Dirs                       []string
	RecoveryThreads            int // for each directory
	RetentionInterval          time.Duration
	FlushInterval              time.Duration // Unlimited is never
	RecoveryCheckpointInterval time.Duration
	StartCheckpointInterval    time.Duration
	InitialDelay               time.Duration
	Cleaner                    Cleaner
}

// Cleaner is about log compaction.
type Cleaner struct {
	Enable           bool
	Threads          int
	DedupeBufferSize int64   // bytes, of all threads
	LoadFactor       float64 // share of it that is filled
	IOBufferSize     int     // bytes, of all threads
	BytesPerSecond   float64 // read and written by all threads
	Backoff          time.Duration
}

// Quotas is about how the use of clients is measured.
type Quotas struct {
	// Windows of WindowSize are for bytes, time and connections, the others for changes of topics.
	Windows              int
	WindowSize           time.Duration
	ControllerWindows    int
	ControllerWindowSize time.Duration
}

// Admin is about operating this process.
type Admin struct {
	// Listen is host:port of /metrics and /healthz; empty is off.
	Listen string
	// Profiles is host:port of /debug/pprof, without a host for 127.0.0.1 alone; empty is off.
	Profiles string
	// LogFormat is kafka or json; LogLevel is debug, info, warn or error.
	LogFormat string
	LogLevel  string
}

// newBroker reads settings into a Broker. The first error is returned. hostname stands for an empty advertised host.
func newBroker(r *reader, hostname string) (*Broker, error) {
	b := &Broker{
		ID:                 metadata.BrokerID(r.int32("broker.id")),
		GenerateID:         r.bool("broker.id.generation.enable"),
		ReservedMaxID:      r.int32("reserved.broker.max.id"),
		Rack:               r.str("broker.rack"),
		AutoCreateTopics:   r.bool("auto.create.topics.enable"),
		DeleteTopics:       r.bool("delete.topic.enable"),
		NumPartitions:      r.int32("num.partitions"),
		ReplicationFactor:  r.int32("default.replication.factor"),
		FetchMaxBytes:      r.int32("fetch.max.bytes"),
		FetchSessions:      r.int("max.incremental.fetch.session.cache.slots"),
		ControlledShutdown: r.bool("controlled.shutdown.enable"),
		ShutdownRetries:    r.int("controlled.shutdown.max.retries"),
		ShutdownBackoff:    r.millis("controlled.shutdown.retry.backoff.ms"),
		Replication:        newReplication(r),
		Controller:         newController(r),
		Groups:             newGroups(r),
		Transactions:       newTransactions(r),
		Log:                newLog(r),
		Quotas: Quotas{
			Windows:              r.int("quota.window.num"),
			WindowSize:           r.seconds("quota.window.size.seconds"),
			ControllerWindows:    r.int("controller.quota.window.num"),
			ControllerWindowSize: r.seconds("controller.quota.window.size.seconds"),
		},
		Admin: Admin{
			Listen:    r.str("jackdaw.admin.listen"),
			Profiles:  r.str("jackdaw.pprof.listen"),
			LogFormat: r.str("jackdaw.log.format"),
			LogLevel:  r.str("jackdaw.log.level"),
		},
		settings: r.values,
	}
	b.IBP, _ = ParseVersion(r.str("inter.broker.protocol.version"))
	var err error
	if b.Network, err = newNetwork(r, hostname); err != nil {
		return nil, err
	}
	if b.ZooKeeper, err = newZooKeeper(r, b.Log.Dirs); err != nil {
		return nil, err
	}
	return b, validate(r, b)
}

func newZooKeeper(r *reader, dirs []string) (ZooKeeper, error) {
	if !r.set(required) {
		return ZooKeeper{}, refuse(required, "Missing required configuration `%s` which has no default value.", required)
	}
	z, err := parseConnect(r.str(required))
	if err != nil {
		return ZooKeeper{}, err
	}
	z.SessionTimeout = r.millis("zookeeper.session.timeout.ms")
	z.ConnectTimeout = r.firstMillis("zookeeper.connection.timeout.ms", "zookeeper.session.timeout.ms")
	z.MaxInFlight = r.int("zookeeper.max.in.flight.requests")
	z.EmbeddedDir = r.str("jackdaw.zookeeper.dir")
	if z.EmbeddedDir == "" && len(dirs) > 0 {
		z.EmbeddedDir = dirs[0] + "-zookeeper"
	}
	return z, nil
}

func newNetwork(r *reader, hostname string) (Network, error) {
	n := Network{
		RequestMaxBytes:     r.int("socket.request.max.bytes"),
		QueuedMaxBytes:      r.int64("queued.max.request.bytes"),
		MaxIdle:             r.millis("connections.max.idle.ms"),
		SendBuffer:          r.int("socket.send.buffer.bytes"),
		ReceiveBuffer:       r.received("socket.receive.buffer.bytes"),
		MaxConnections:      r.int("max.connections"),
		MaxConnectionsOf:    map[string]int{},
		MaxConnectionsPerIP: r.int("max.connections.per.ip"),
		MaxConnectionRate:   r.int("max.connection.creation.rate"),
		MaxConnectionRateOf: map[string]int{},
		RequestTimeout:      r.millis("request.timeout.ms"),
		ConnectTimeout:      r.millis("socket.connection.setup.timeout.ms"),
		ConnectTimeoutMax:   r.millis("socket.connection.setup.timeout.max.ms"),
	}
	if err := listenersOf(r, &n, hostname); err != nil {
		return n, err
	}
	if err := securityOf(r, &n); err != nil {
		return n, err
	}
	for _, l := range names(n.Listeners) {
		if v, ok := r.values[listenerKey(l, "max.connections")].(int64); ok {
			n.MaxConnectionsOf[l] = int(v)
		}
		if v, ok := r.values[listenerKey(l, "max.connection.creation.rate")].(int64); ok {
			n.MaxConnectionRateOf[l] = int(v)
		}
	}
	var err error
	n.MaxConnectionsPerIPOverride, err = connectionOverrides(r.str("max.connections.per.ip.overrides"))
	return n, err
}

// received is the size of a socket's receive buffer: -1 unless someone has asked for one. The system's buffers grow with what
// comes in, so that more of a request or an answer is there at a time.
//
// Differs from Kafka: the default counts.
func (r *reader) received(key string) int {
	if !r.set(key) {
		return -1
	}
	return r.int(key)
}

// rackAwareSelector is the one class of replica.selector.class that does something.
const rackAwareSelector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

func newReplication(r *reader) Replication {
	return Replication{
		LagTimeMax:            r.millis("replica.lag.time.max.ms"),
		FetchWaitMax:          r.millis("replica.fetch.wait.max.ms"),
		FetchBackoff:          r.millis("replica.fetch.backoff.ms"),
		FetchMinBytes:         r.int32("replica.fetch.min.bytes"),
		FetchMaxBytes:         r.int32("replica.fetch.max.bytes"),
		FetchResponseMaxBytes: r.int32("replica.fetch.response.max.bytes"),
		NumFetchers:           r.int("num.replica.fetchers"),
		SocketTimeout:         r.millis("replica.socket.timeout.ms"),
		ReceiveBuffer:         r.received("replica.socket.receive.buffer.bytes"),
		HWCheckpointInterval:  r.millis("replica.high.watermark.checkpoint.interval.ms"),
		RackAware:             r.str("replica.selector.class") == rackAwareSelector,
		LeaderRate:            r.rate("leader.replication.throttled.rate"),
		FollowerRate:          r.rate("follower.replication.throttled.rate"),
		ThrottleWindows:       Windows{r.int("replication.quota.window.num"), r.seconds("replication.quota.window.size.seconds")},
		MoveRate:              r.rate("replica.alter.log.dirs.io.max.bytes.per.second"),
		MoveWindows: Windows{
			r.int("alter.log.dirs.replication.quota.window.num"), r.seconds("alter.log.dirs.replication.quota.window.size.seconds"),
		},
		NumMovers: movers(r),
	}
}

// movers is num.replica.alter.log.dirs.threads, by default one for each directory.
func movers(r *reader) int {
	const key = "num.replica.alter.log.dirs.threads"
	if r.null(key) {
		return len(logDirs(r))
	}
	return max(r.int(key), 1)
}

func newController(r *reader) Controller {
	return Controller{
		AutoRebalance:     r.bool("auto.leader.rebalance.enable"),
		FastFailover:      r.bool("jackdaw.fast.failover.enable"),
		ImbalancePercent:  r.int("leader.imbalance.per.broker.percentage"),
		ImbalanceInterval: r.seconds("leader.imbalance.check.interval.seconds"),
		SocketTimeout:     r.millis("controller.socket.timeout.ms"),
	}
}

func newGroups(r *reader) Groups {
	return Groups{
		MinSessionTimeout:     r.millis("group.min.session.timeout.ms"),
		MaxSessionTimeout:     r.millis("group.max.session.timeout.ms"),
		InitialRebalanceDelay: r.millis("group.initial.rebalance.delay.ms"),
		MaxSize:               r.int("group.max.size"),
		MetadataMaxBytes:      r.int("offset.metadata.max.bytes"),
		CommitTimeout:         r.millis("offsets.commit.timeout.ms"),
		CommitAcks:            int16(r.int64("offsets.commit.required.acks")),
		Retention:             scaled(r.int64("offsets.retention.minutes"), time.Minute),
		RetentionInterval:     r.millis("offsets.retention.check.interval.ms"),
		Partitions:            r.int32("offsets.topic.num.partitions"),
		ReplicationFactor:     int16(r.int64("offsets.topic.replication.factor")),
		SegmentBytes:          r.int32("offsets.topic.segment.bytes"),
		CompressionCodec:      int8(r.int64("offsets.topic.compression.codec")),
		Consumer:              newConsumerGroups(r),
	}
}

func newTransactions(r *reader) Transactions {
	return Transactions{
		ProducerExpiration:     r.millis("producer.id.expiration.ms"),
		ProducerExpiryInterval: r.millis("producer.id.expiration.check.interval.ms"),
		MaxTimeout:             r.millis("transaction.max.timeout.ms"),
		IDExpiration:           r.millis("transactional.id.expiration.ms"),
		IDExpiryInterval:       r.millis("transaction.remove.expired.transaction.cleanup.interval.ms"),
		AbortTimedOutInterval:  r.millis("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
		Verify:                 r.bool("transaction.partition.verification.enable"),
		Partitions:             r.int32("transaction.state.log.num.partitions"),
		ReplicationFactor:      int16(r.int64("transaction.state.log.replication.factor")),
		MinISR:                 r.int32("transaction.state.log.min.isr"),
		SegmentBytes:           r.int32("transaction.state.log.segment.bytes"),
	}
}

// logDirs is log.dirs, or log.dir when that is not set, as absolute paths: that is what DescribeLogDirs tells and a move names.
func logDirs(r *reader) []string {
	key := "log.dirs"
	if r.null(key) {
		key = "log.dir"
	}
	dirs := splitList(r.str(key))
	for i, d := range dirs {
		if abs, err := filepath.Abs(d); err == nil {
			dirs[i] = abs
		}
	}
	return dirs
}

func newLog(r *reader) Log {
	return Log{
		Dirs:                       logDirs(r),
		RecoveryThreads:            r.int("num.recovery.threads.per.data.dir"),
		RetentionInterval:          r.millis("log.retention.check.interval.ms"),
		FlushInterval:              r.millis("log.flush.scheduler.interval.ms"),
		RecoveryCheckpointInterval: r.millis("log.flush.offset.checkpoint.interval.ms"),
		StartCheckpointInterval:    r.millis("log.flush.start.offset.checkpoint.interval.ms"),
		InitialDelay:               r.millis("log.initial.task.delay.ms"),
		Cleaner: Cleaner{
			Enable:           r.bool("log.cleaner.enable"),
			Threads:          r.int("log.cleaner.threads"),
			DedupeBufferSize: r.int64("log.cleaner.dedupe.buffer.size"),
			LoadFactor:       r.float("log.cleaner.io.buffer.load.factor"),
			IOBufferSize:     r.int("log.cleaner.io.buffer.size"),
			BytesPerSecond:   r.float("log.cleaner.io.max.bytes.per.second"),
			Backoff:          r.millis("log.cleaner.backoff.ms"),
		},
	}
}
