package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"jackdaw/controller/state"
	"jackdaw/internal/run"
	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/zkstore"
	"jackdaw/zkstore/zkserver"
)

// readyTimeout is how long the start waits for the controller's first UpdateMetadata before it goes on without.
const readyTimeout = 30 * time.Second

// topicsTimeout bounds the wait for the topics among it: some may be stuck at the controller.
const topicsTimeout = 5 * time.Second

// start opens everything in order. What was opened stays in b for stop to close, also after an error.
func (b *Broker) start(ctx context.Context, parts *run.Group) error {
	ibp, err := state.ParseIBP(string(b.cfg.IBP))
	if err != nil {
		return fmt.Errorf("inter.broker.protocol.version: %w", err)
	}
	b.ibp = ibp
	if err := b.startZooKeeper(ctx, parts); err != nil {
		return err
	}
	if err := b.identify(ctx); err != nil {
		return err
	}
	if err := b.openAuthorizer(ctx); err != nil {
		return err
	}
	if err := b.openLogs(ctx); err != nil {
		return err
	}
	if err := b.writeMeta(); err != nil {
		return err
	}
	if err := b.reencodePasswords(ctx); err != nil {
		return err
	}
	if err := b.credentials.Load(ctx, b.zk.Session()); err != nil {
		return err
	}
	if err := b.openNetwork(ctx); err != nil {
		return err
	}
	b.openCores()
	b.runParts(parts) //nolint:contextcheck // the parts outlive ctx: a controlled shutdown needs them
	b.followConfig(ctx)
	if err := b.registerFirst(ctx); err != nil {
		return err
	}
	return b.awaitMetadata(ctx)
}

// startZooKeeper starts the embedded server if it is configured, and the first session.
func (b *Broker) startZooKeeper(ctx context.Context, parts *run.Group) error {
	servers := b.cfg.ZooKeeper.Servers
	if b.cfg.ZooKeeper.Embedded {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(b.cfg.ZooKeeper.EmbeddedPort))
		s, err := zkserver.Open(zkserver.Options{Addr: addr, Dir: b.cfg.ZooKeeper.EmbeddedDir, Logger: b.log}) //nolint:contextcheck // it runs as long as parts
		if err != nil {
			return fmt.Errorf("zookeeper.connect=embedded: %w", err)
		}
		b.zkServer = s
		parts.Go("zookeeper", s.Run)
		servers = []string{s.Addr()}
	}
	b.zk = zkstore.NewClient(zkstore.Config{
		Servers:        servers,
		Chroot:         b.cfg.ZooKeeper.Chroot,
		SessionTimeout: b.cfg.ZooKeeper.SessionTimeout,
		ConnectTimeout: b.cfg.ZooKeeper.ConnectTimeout,
		MaxInFlight:    b.cfg.ZooKeeper.MaxInFlight,
		Logger:         b.log,
		Metrics:        b.registry,
	})
	b.zk.OnSession("broker", b.sessionStarted, b.sessionExpired)
	return b.zk.Start(ctx)
}

// identify settles the cluster id and the broker id, from ZooKeeper and from meta.properties in each data directory,
// which must not belong to another broker or cluster.
func (b *Broker) identify(ctx context.Context) error {
	session := b.zk.Session()
	if session == nil {
		return zkstore.ErrSessionExpired
	}
	clusterID, err := session.ClusterID(ctx)
	if err != nil {
		return fmt.Errorf("cluster id in zookeeper: %w", err)
	}
	b.clusterID = clusterID
	found, err := b.readMeta()
	if err != nil {
		return err
	}
	switch configured := b.cfg.ID; {
	case configured >= 0 && found >= 0 && found != configured:
		return fmt.Errorf("broker.id=%d: the data directories in log.dirs belong to broker %d: correct broker.id, or log.dirs", configured, found)
	case configured >= 0:
		b.id = configured
	case found >= 0:
		b.id = found
	case !b.cfg.GenerateID:
		return errors.New("broker.id is not set and broker.id.generation.enable=false: set broker.id")
	default:
		if b.id, err = session.GenerateBrokerID(ctx, b.cfg.ReservedMaxID); err != nil {
			return fmt.Errorf("broker.id.generation.enable: %w", err)
		}
	}
	b.log = b.log.With("broker", b.id)
	return nil
}

// readMeta returns the broker id in meta.properties, -1 where there is none, and refuses directories that disagree.
func (b *Broker) readMeta() (metadata.BrokerID, error) {
	found, foundIn := metadata.NoBroker, ""
	for _, dir := range b.cfg.Log.Dirs {
		m, ok, err := log.ReadMeta(b.fs, dir)
		if err != nil {
			return 0, fmt.Errorf("log.dirs: %w", err)
		}
		if !ok {
			continue
		}
		if m.ClusterID != "" && m.ClusterID != b.clusterID {
			return 0, fmt.Errorf("log.dirs: %s belongs to cluster %s, but zookeeper.connect leads to cluster %s: correct zookeeper.connect, or log.dirs",
				dir, m.ClusterID, b.clusterID)
		}
		id := metadata.BrokerID(m.BrokerID)
		if found >= 0 && id >= 0 && id != found {
			return 0, fmt.Errorf("log.dirs: %s belongs to broker %d, %s to broker %d", foundIn, found, dir, id)
		}
		if id >= 0 {
			found, foundIn = id, dir
		}
	}
	return found, nil
}

// writeMeta marks the data directories, now locked, as this broker's. What is marked already is left as it is.
func (b *Broker) writeMeta() error {
	for _, dir := range b.logs.LiveDirs() {
		m, ok, err := log.ReadMeta(b.fs, dir)
		if err != nil {
			return fmt.Errorf("log.dirs: %w", err)
		}
		want := log.Meta{BrokerID: int32(b.id), ClusterID: b.clusterID}
		if ok && m == want {
			continue
		}
		if err := log.WriteMeta(b.fs, dir, want); err != nil {
			return fmt.Errorf("log.dirs: %w", err)
		}
	}
	return nil
}

// registerFirst registers the broker, once it can answer the controller. A session lost just then is waited for.
func (b *Broker) registerFirst(ctx context.Context) error {
	b.booted.Store(true)
	for {
		session, err := b.zk.WaitSession(ctx)
		if err != nil {
			return err
		}
		if err = b.register(ctx, session); err == nil {
			err = b.controller.SessionStarted(ctx, session)
		}
		if err == nil || !errors.Is(err, zkstore.ErrSessionExpired) {
			return err
		}
	}
}

// sessionStarted is called in each new ZooKeeper session. In the first one the logs are not loaded yet: registerFirst
// does its work later.
func (b *Broker) sessionStarted(ctx context.Context, session *zkstore.Session) error {
	if err := session.EnsurePersistentPaths(ctx); err != nil {
		return err
	}
	if !b.booted.Load() {
		return nil
	}
	b.log.Info("new zookeeper session, registering again")
	if err := b.register(ctx, session); err != nil {
		return err
	}
	return b.controller.SessionStarted(ctx, session)
}

// sessionExpired returns when nothing of the old session is under way any more.
func (b *Broker) sessionExpired() {
	if b.booted.Load() {
		b.controller.SessionExpired()
	}
}

// register puts the broker into /brokers/ids and remembers its epoch, then watches for changes of configuration.
func (b *Broker) register(ctx context.Context, session *zkstore.Session) error {
	epoch, err := b.registerEndpoints(ctx, session)
	if err != nil {
		return fmt.Errorf("register broker %d: %w", b.id, err)
	}
	b.brokerEpoch.Store(epoch)
	b.registeredOnce.Do(func() { close(b.registered) })
	b.log.Info("registered", "epoch", epoch, "endpoints", b.Endpoints())
	if err := b.quotas.Load(ctx, session); err != nil {
		return err
	}
	if b.authorizer != nil {
		if err := b.authorizer.Follow(ctx, session, b.parts); err != nil {
			return err
		}
	}
	if err := b.credentials.Load(ctx, session); err != nil {
		return err
	}
	return b.topics.Follow(ctx, session, b.parts)
}

// awaitMetadata returns when the controller has told this broker about itself and about the topics that there are: from
// then on clients can use it. The first UpdateMetadata of a controller names live brokers only.
func (b *Broker) awaitMetadata(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errNoController)
	defer cancel()
	err := b.cache.Wait(ctx, func(m *metadata.Image) bool { return m.IsAlive(b.id) })
	if err == nil {
		err = b.awaitTopics(ctx)
	}
	if err != nil && errors.Is(context.Cause(ctx), errNoController) {
		b.log.Warn("the controller has not sent all metadata yet, starting without", "waited", readyTimeout)
		return nil
	}
	return err
}

// awaitTopics waits for the topics that ZooKeeper has now. One that cannot be read, or is being deleted, is not waited for.
func (b *Broker) awaitTopics(ctx context.Context) error {
	session, err := b.zk.WaitSession(ctx)
	if err != nil {
		return err
	}
	names, err := session.Topics(ctx)
	if err != nil {
		return fmt.Errorf("topics in zookeeper: %w", err)
	}
	deleted, err := session.TopicDeletions(ctx)
	if err != nil {
		return fmt.Errorf("topic deletions in zookeeper: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, topicsTimeout)
	defer cancel()
	err = b.cache.Wait(ctx, func(m *metadata.Image) bool {
		return !slices.ContainsFunc(names, func(t string) bool { return !knownTopic(m, t) && !slices.Contains(deleted, t) })
	})
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		b.log.Info("not all topics are in the metadata yet", "topics", len(names), "known", b.cache.Image().NumTopics())
		return nil
	}
	return err
}

var errNoController = errors.New("no controller")
