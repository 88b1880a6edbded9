package broker

import (
	"context"
	"time"
)

// notifyPause is between attempts to tell the controller of a failed log directory.
const notifyPause = time.Second

// logDirFailed takes the replicas of a failed log directory offline and tells the controller, which moves their leaders
// away. That the last directory has failed ends the broker by itself. Kafka: ReplicaManager.handleLogDirFailure.
func (b *Broker) logDirFailed(dir string, err error) {
	b.log.Error("log directory failed", "dir", dir, "err", err)
	b.replicas.LogDirFailed(dir)
	b.parts.Go("log-dir-failure", func(ctx context.Context) error {
		b.tellLogDirFailure(ctx, dir)
		return nil
	})
}

// tellLogDirFailure writes the notification, as soon as there is a ZooKeeper session. The controller then asks for the
// state of all replicas here.
func (b *Broker) tellLogDirFailure(ctx context.Context, dir string) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		session, err := b.zk.WaitSession(ctx)
		if err != nil {
			return
		}
		if err = session.NotifyLogDirFailure(ctx, b.id); err == nil {
			return
		}
		b.log.Warn("controller not told of the failed log directory yet", "dir", dir, "err", err)
		pause.Reset(notifyPause)
	}
}
