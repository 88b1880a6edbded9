package rig

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Bare are the processes of bench.Bare servers. The first has the others for followers.
const Bare Kind = "bare"

// StartBare starts Bare servers: this very program, with the command that main has for them.
func StartBare(ctx context.Context, dir string, servers int) (*Cluster, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Kind: Bare}
	var followers []string
	for i := range servers {
		addr, err := freeAddr(ctx)
		if err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		args := []string{"bare", "--listen", addr, "--dir", dir}
		if i == servers-1 && servers > 1 {
			args = append(args, "--followers", strings.Join(followers, ","))
		}
		var p *Process
		err = withSlack(func() error {
			p, err = start(ctx, dir, "bare-"+filepath.Base(addr), self, args...)
			return err
		})
		if err == nil {
			c.Brokers = append([]*Broker{{Process: p, Addr: addr}}, c.Brokers...)
			err = p.waitOutput(ctx, "listening")
		}
		if err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		followers = append(followers, addr)
	}
	return c, nil
}
