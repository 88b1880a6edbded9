package zkstore

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"jackdaw/metadata"
	"jackdaw/zkstore/znode"
)

// EnsurePersistentPaths creates the parents of everything that are not there yet. Kafka: KafkaZkClient.createTopLevelPaths.
func (s *Session) EnsurePersistentPaths(ctx context.Context) error {
	var tops, all []string
	for _, p := range znode.PersistentPaths() {
		if top := znode.Parent(p); top != "/" && !slices.Contains(tops, top) {
			tops = append(tops, top)
		}
		all = append(all, p)
	}
	for _, level := range [][]string{tops, all} {
		if err := s.ensure(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// ensure creates the persistent nodes that are missing; their parents must be there.
func (s *Session) ensure(ctx context.Context, paths []string) error {
	errs := make([]error, len(paths))
	err := s.pipeline(ctx, len(paths), func(i int) {
		exists, _, err := s.Exists(ctx, paths[i])
		if err == nil && !exists {
			_, err = s.Create(ctx, paths[i], nil, Persistent)
		}
		if !errors.Is(err, ErrNodeExists) {
			errs[i] = err
		}
	})
	if err != nil {
		return err
	}
	return errors.Join(errs...)
}

// ensureParents creates the persistent nodes above a path.
func (s *Session) ensureParents(ctx context.Context, path string) error {
	var missing []string
	for p := znode.Parent(path); p != "/"; p = znode.Parent(p) {
		missing = append(missing, p)
	}
	for _, p := range slices.Backward(missing) {
		if err := s.ensure(ctx, []string{p}); err != nil {
			return err
		}
	}
	return nil
}

// createAll creates a persistent node and what is missing above it.
func (s *Session) createAll(ctx context.Context, path string, data []byte) error {
	_, err := s.Create(ctx, path, data, Persistent)
	if !errors.Is(err, ErrNoNode) {
		return err
	}
	if err := s.ensureParents(ctx, path); err != nil {
		return err
	}
	_, err = s.Create(ctx, path, data, Persistent)
	return err
}

// ClusterID returns the id in /cluster/id, which it makes when there is none. Kafka: KafkaServer.getOrGenerateClusterId.
func (s *Session) ClusterID(ctx context.Context) (string, error) {
	for {
		data, _, err := s.Get(ctx, znode.ClusterIDPath)
		if err == nil {
			return znode.DecodeClusterID(data)
		}
		if !errors.Is(err, ErrNoNode) {
			return "", err
		}
		id := uuid.New()
		text := base64.RawURLEncoding.EncodeToString(id[:])
		if err := s.createAll(ctx, znode.ClusterIDPath, znode.EncodeClusterID(text)); err != nil && !errors.Is(err, ErrNodeExists) {
			return "", err
		}
	}
}

// GenerateBrokerID takes the next id above reservedMax (reserved.broker.max.id) for a broker with broker.id=-1.
// Kafka: KafkaZkClient.getBrokerSequenceId.
func (s *Session) GenerateBrokerID(ctx context.Context, reservedMax int32) (metadata.BrokerID, error) {
	st, err := s.Set(ctx, znode.BrokerSequencePath, []byte{}, AnyVersion)
	if errors.Is(err, ErrNoNode) {
		if err := s.createAll(ctx, znode.BrokerSequencePath, nil); err != nil && !errors.Is(err, ErrNodeExists) {
			return 0, err
		}
		st, err = s.Set(ctx, znode.BrokerSequencePath, []byte{}, AnyVersion)
	}
	if err != nil {
		return 0, err
	}
	if st.Version > math.MaxInt32-reservedMax {
		return 0, fmt.Errorf("no broker id is left: sequence %d above reserved.broker.max.id %d", st.Version, reservedMax)
	}
	return metadata.BrokerID(reservedMax + st.Version), nil
}

// RegisterBroker creates the ephemeral registration of a broker and returns its czxid, the broker epoch. It fails with
// *DuplicateBrokerError when another process has the id.
//
// The caller listens on the endpoints already. A registration of an earlier session of this client is replaced. One that
// has the same endpoints but another owner is what this broker left before a crash. If the endpoints lead to this machine,
// nobody else can listen there, so it is replaced, too, and counts as this client's own from then on; otherwise
// RegisterBroker waits for that session to end, for the session timeout and a little more. A registration that is lost later
// ends the session: see guard.
// Kafka: KafkaZkClient.registerBroker, CheckedEphemeral; KAFKA-7165. Differs from Kafka: a JVM broker fails at once.
func (s *Session) RegisterBroker(ctx context.Context, info znode.BrokerInfo) (epoch int64, err error) {
	epoch, err = s.registerBroker(ctx, info)
	if err == nil {
		s.guardOnce.Do(func() {
			s.calls.Go("zk-registration", func(context.Context) error {
				s.guard(info.ID)
				return nil
			})
		})
	}
	return epoch, err
}

// guard ends the session when the registration is not its own any more: a new session registers again, under a new epoch,
// as after an expiry. Without a registration nobody counts the broker as alive, and nothing else would tell it.
//
// The interleaving that needs it: a broker is killed while it replaces the registration of its former life; it starts again and
// registers; then the last packet of the killed process, which the system went on sending, reaches ZooKeeper, and deletes the
// registration under the version that all of them have. Kafka: a broker whose node somebody deletes stays unregistered.
func (s *Session) guard(id metadata.BrokerID) {
	path := znode.BrokerPath(id)
	_ = s.WatchData(s.ctx, path, func(_ []byte, st Stat, exists bool) {
		if s.ctx.Err() == nil && (!exists || st.EphemeralOwner != s.ID()) {
			s.lg.Error("registration is gone while its session lives, taking another session", "path", path, "session", s)
			s.end(ErrSessionExpired)
		}
	})
}

func (s *Session) registerBroker(ctx context.Context, info znode.BrokerInfo) (epoch int64, err error) {
	path, data := znode.BrokerPath(info.ID), info.Encode()
	deadline := time.Now().Add(s.link.timeout() + 2*time.Second)
	for {
		res, err := s.Multi(ctx, CreateOp(path, nil, Ephemeral), SetOp(path, data, AnyVersion))
		if err == nil {
			return res[1].Stat.CZxid, nil
		}
		if !errors.Is(err, ErrNodeExists) {
			return 0, err
		}
		epoch, done, err := s.takeOver(ctx, info, data, deadline)
		if err != nil || done {
			return epoch, err
		}
	}
}

// takeOver deals with a registration that is there already. done is false when it has gone.
func (s *Session) takeOver(ctx context.Context, info znode.BrokerInfo, data []byte, deadline time.Time) (epoch int64, done bool, err error) {
	path := znode.BrokerPath(info.ID)
	old, st, ch, err := s.GetW(ctx, path)
	switch {
	case errors.Is(err, ErrNoNode):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case st.EphemeralOwner == s.ID():
		_, err := s.Set(ctx, path, data, AnyVersion)
		return st.CZxid, true, err
	case s.c.isFormer(st.EphemeralOwner):
		s.lg.Info("own registration of an earlier session replaced", "path", path, "owner", fmt.Sprintf("0x%x", st.EphemeralOwner))
		return 0, false, s.deleteOwned(ctx, path, st)
	}
	wait := time.Until(deadline)
	before, err := znode.DecodeBroker(info.ID, old)
	if err != nil || wait <= 0 || !slices.Equal(before.Endpoints, info.Endpoints) {
		return 0, false, &DuplicateBrokerError{ID: info.ID, Owner: st.EphemeralOwner}
	}
	if s.servedHere(ctx, info.Endpoints) {
		s.c.addFormer(st.EphemeralOwner)
		return 0, false, nil
	}
	s.lg.Info("waiting for the registration of an earlier run of this broker to expire", "path", path, "at_most", wait.Round(time.Millisecond))
	wctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := s.await(wctx, ch); err != nil && (ctx.Err() != nil || wctx.Err() == nil) {
		return 0, false, err
	}
	return 0, false, nil
}

// UpdateBroker rewrites the registration of this session when the listeners have changed; the epoch stays.
func (s *Session) UpdateBroker(ctx context.Context, info znode.BrokerInfo) error {
	_, err := s.Set(ctx, znode.BrokerPath(info.ID), info.Encode(), AnyVersion)
	return err
}

// LiveBrokers returns the registered brokers; Epoch is the czxid. Registrations that cannot be read are left out and
// logged.
func (s *Session) LiveBrokers(ctx context.Context) (map[metadata.BrokerID]znode.BrokerInfo, error) {
	names, _, err := s.Children(ctx, znode.BrokerIDsPath)
	if errors.Is(err, ErrNoNode) {
		return map[metadata.BrokerID]znode.BrokerInfo{}, nil
	}
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = znode.BrokerIDsPath + "/" + n
	}
	got, err := s.GetMany(ctx, paths)
	if err != nil {
		return nil, err
	}
	out := make(map[metadata.BrokerID]znode.BrokerInfo, len(names))
	for i, r := range got {
		if errors.Is(r.Err, ErrNoNode) {
			continue
		}
		if r.Err != nil {
			return nil, r.Err
		}
		id, err := strconv.ParseInt(names[i], 10, 32)
		if err != nil {
			s.lg.Warn("registration with a strange name is ignored", "path", paths[i])
			continue
		}
		b, err := znode.DecodeBroker(metadata.BrokerID(id), r.Data)
		if err != nil {
			s.lg.Warn("registration is ignored", "path", paths[i], "err", err)
			continue
		}
		b.Epoch = r.Stat.CZxid
		out[b.ID] = b
	}
	return out, nil
}
