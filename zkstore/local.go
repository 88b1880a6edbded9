package zkstore

import (
	"context"
	"net"
	"net/netip"

	"jackdaw/metadata"
)

// servedHere reports whether clients that use the endpoints reach this machine: then no other process that is alive can
// have registered them, since the caller listens there itself. A loopback address is this machine only for those who share
// it, which all clients of a ZooKeeper on the loopback interface do.
func (s *Session) servedHere(ctx context.Context, endpoints []metadata.Endpoint) bool {
	local, err := localAddrs()
	if err != nil || len(endpoints) == 0 {
		return false
	}
	shared := s.link.overLoopback()
	for _, e := range endpoints {
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", e.Host)
		if err != nil || len(addrs) == 0 {
			return false
		}
		for _, a := range addrs {
			a = a.Unmap()
			if a.IsLoopback() && !shared || !a.IsLoopback() && !local[a] {
				return false
			}
		}
	}
	return true
}

// localAddrs are the addresses of this machine's interfaces.
func localAddrs() (map[netip.Addr]bool, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	out := map[netip.Addr]bool{}
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out[p.Addr().Unmap()] = true
		}
	}
	return out, nil
}

// overLoopback reports whether ZooKeeper was reached on the loopback interface.
func (l *link) overLoopback() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.conn == nil {
		return false
	}
	ap, err := netip.ParseAddrPort(l.mu.conn.RemoteAddr().String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}
