package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/singleflight"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/controller"
	"jackdaw/controller/state"
	"jackdaw/coordinator/service"
	"jackdaw/internal/metrics"
	"jackdaw/internal/run"
	"jackdaw/internal/vfs"
	"jackdaw/log"
	"jackdaw/log/cleaner"
	"jackdaw/metadata"
	"jackdaw/peer"
	"jackdaw/replication"
	"jackdaw/security/authorizer"
	"jackdaw/zkstore"
	"jackdaw/zkstore/zkserver"
)

// Broker is one Kafka broker. Kafka: KafkaServer.
type Broker struct {
	loaded      *config.Loaded
	cfg         *config.Broker
	log         *slog.Logger
	stateChange *slog.Logger
	// said carries the lines that scripts wait for, word for word Kafka's.
	said     *slog.Logger
	registry *prometheus.Registry
	levels   LogLevels

	// id and clusterID are known once ZooKeeper and the data directories have been asked, and fixed from then on.
	id        metadata.BrokerID
	clusterID string
	// advertised are the endpoints that are registered, with the bound port in place of port 0; only replaced.
	advertised atomic.Pointer[[]metadata.Endpoint]
	// brokerEpoch is the czxid of the newest registration, -1 before the first; registered is closed with that.
	brokerEpoch    atomic.Int64
	registered     chan struct{}
	registeredOnce sync.Once
	// order is that of the requests of controllers.
	order *controlOrder
	// booted is set when the logs are loaded: from then on each new ZooKeeper session registers the broker again.
	booted atomic.Bool
	// serving tells whether clients can use the broker now; ready is closed when they first can, started when the start has
	// ended, well or not.
	serving        atomic.Bool
	ready, started chan struct{}

	parts    *run.Group
	zkServer *zkserver.Server // nil unless zookeeper.connect=embedded
	zk       *zkstore.Client
	cache    *metadataCache
	// authorizer is nil where everybody may do everything.
	authorizer *authorizer.Authorizer
	topics     *topicConfigs
	quotas     *quotas
	// security and credentials are for listeners that ask peers who they are.
	security    *listenerSecurity
	credentials *credentials
	// altering is held by the request that changes a configuration in ZooKeeper.
	altering   chan struct{}
	fs         vfs.FS
	logs       *log.Manager
	logsOpen   bool
	cleaner    *cleaner.Cleaner // nil with log.cleaner.enable=false
	network    *network.Server
	replicas   *replication.ReplicaManager
	controller *controller.Controller
	groups     *service.Groups
	// transactions is the transaction coordinator, markers are its connections to the leaders of partitions.
	transactions *service.Transactions
	markers      *peerLinks
	// verifier asks transaction coordinators before the first batch of a transaction is taken, over verifierLinks.
	verifier      *txnVerifier
	verifierLinks *peerLinks
	// stopCoordinators unloads all groups and transactional ids, and answers whoever waits in one.
	stopCoordinators context.CancelFunc
	toController     *peer.ControllerChannel
	// ibp is inter.broker.protocol.version; it is known when Run begins.
	ibp state.IBP
	isr isrStore
	// sends and receives are the limits of replication, moves that of copying between log directories.
	sends, receives, moves *throttle
	producerIDs            *producerIDs
	creations              singleflight.Group
	admin                  *adminServer
	// profiles serves /debug/pprof, nil without jackdaw.pprof.listen.
	profiles *adminServer
}

// New returns a broker for a checked configuration; Run starts it.
func New(loaded *config.Loaded, logger *slog.Logger) *Broker {
	b := &Broker{
		loaded:      loaded,
		cfg:         loaded.Broker(),
		fs:          vfs.OS{},
		log:         logger,
		stateChange: logger.With("logger", "state.change.logger"),
		said:        logger.With("component", "kafka.server.KafkaServer"),
		registry:    metrics.NewRegistry(),
		levels:      fixedLevel(loaded.Broker().Admin.LogLevel),
		cache:       newMetadataCache(),
		ready:       make(chan struct{}),
		started:     make(chan struct{}),
		registered:  make(chan struct{}),
		order:       newControlOrder(),
	}
	b.security, b.credentials = newListenerSecurity(), newCredentials(logger)
	b.quotas = newQuotas(b.cfg.Quotas, logger)
	b.altering = make(chan struct{}, 1)
	b.brokerEpoch.Store(-1)
	b.producerIDs = &producerIDs{allocate: b.allocateProducerIDs}
	return b
}

// WithLogLevels gives the broker the levels of its logger, to show and to change; it comes before Run. Without them the
// level stays what jackdaw.log.level says.
func (b *Broker) WithLogLevels(levels LogLevels) *Broker {
	b.levels = levels
	return b
}

// Run starts the broker, serves until ctx ends, and stops it in order. The error says why it could not start, or what
// fault ended it.
func (b *Broker) Run(ctx context.Context) error {
	begun := time.Now()
	// The parts outlive ctx: a controlled shutdown needs them.
	parts := run.New(context.WithoutCancel(ctx), b.log)
	b.parts = parts
	err := b.start(ctx, parts)
	if err == nil {
		b.serving.Store(true)
		close(b.ready)
	}
	close(b.started)
	if err == nil {
		b.log.Info("ready for clients", "took", time.Since(begun).Round(time.Millisecond))
		b.said.Info(fmt.Sprintf("[KafkaServer id=%d] started", b.id)) //nolint:sloglint // Kafka's line, which scripts wait for
		err = b.serve(ctx, parts)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // stopped while it was starting
	}
	return errors.Join(err, b.stop(parts)) //nolint:contextcheck // ctx has ended; each step of the stop has a bound of its own
}

// Ready is closed when clients can use the broker.
func (b *Broker) Ready() <-chan struct{} { return b.ready }

// Endpoints returns the addresses that clients are told, with the real port where port 0 was configured. It is valid
// once Ready is closed, until listeners are changed. The slice must not be changed.
func (b *Broker) Endpoints() []metadata.Endpoint { return *b.advertised.Load() }

// serve waits for the end: the caller's, or a part that failed.
func (b *Broker) serve(ctx context.Context, parts *run.Group) error {
	defer b.serving.Store(false)
	select {
	case <-ctx.Done():
		b.log.Info("shutting down", "reason", context.Cause(ctx))
		return nil
	case <-parts.Context().Done():
		return context.Cause(parts.Context()) //nolint:contextcheck // why the parts have ended
	}
}

// checkBrokerEpoch refuses a controller's request that was meant for an earlier life of this broker (KIP-380). -1 means
// that the controller does not know epochs; an epoch above ours is from a registration whose answer is under way to us.
//
// Before the first registration no life can be told from another, so that the request waits. Otherwise:
//
//	this broker leads with ISR (1), asks for (1, 2), and dies; the controller writes (1, 2);
//	the next life executes a request that the controller still repeats for the former one: it leads with ISR (1);
//	it acknowledges what 2 does not have, and dies again; 2 is elected.
func (b *Broker) checkBrokerEpoch(ctx context.Context, epoch int64) error {
	select {
	case <-b.registered:
	case <-ctx.Done():
		return fmt.Errorf("not registered yet: %w", kerr.StaleBrokerEpoch) // nobody reads it any more
	}
	if own := b.brokerEpoch.Load(); epoch >= 0 && epoch < own {
		return fmt.Errorf("broker epoch %d, now %d: %w", epoch, own, kerr.StaleBrokerEpoch)
	}
	return nil
}
