package rig

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// ZooKeeper is the server that all clusters of a run share.
type ZooKeeper struct {
	*Process
	// Addr is its connect string.
	Addr string
}

// StartZooKeeper starts Apache ZooKeeper and waits until it listens.
func (j Java) StartZooKeeper(ctx context.Context, dir string) (*ZooKeeper, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "zoo.cfg")
	text := fmt.Sprintf("dataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n",
		filepath.Join(dir, "data"), port)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	p, err := j.start(ctx, dir, "zookeeper", []string{"-Xmx256m"}, "org.apache.zookeeper.server.quorum.QuorumPeerMain", file)
	if err != nil {
		return nil, err
	}
	return &ZooKeeper{Process: p, Addr: addr}, waitListening(ctx, p, addr)
}

func waitListening(ctx context.Context, p *Process, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-time.After(pollEvery):
		case <-p.done:
			return fmt.Errorf("%s ended; its log is %s", p.name, p.log)
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen on %s: %w", p.name, addr, err)
		}
	}
}

// freeAddr finds a loopback port nobody uses. It is free again when this returns, which is good enough for a benchmark.
func freeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
