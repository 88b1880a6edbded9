package network

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// limits counts connections, by listener and by address. Kafka: ConnectionQuotas.
type limits struct {
	maxTotal int
	maxPerIP int
	// overrides of maxPerIP; set before the first connection.
	overrides map[netip.Addr]int

	mu struct {
		sync.Mutex
		total      int
		byListener map[*listener]int
		byIP       map[netip.Addr]int
		// freed is closed and replaced when a connection ends.
		freed chan struct{}
	}
}

func newLimits(o *Options) *limits {
	l := &limits{maxTotal: o.MaxConns, maxPerIP: o.MaxConnsPerIP, overrides: make(map[netip.Addr]int)}
	l.mu.byListener = make(map[*listener]int)
	l.mu.byIP = make(map[netip.Addr]int)
	l.mu.freed = make(chan struct{})
	return l
}

// resolve reads the overrides, whose keys are addresses or host names.
func (l *limits) resolve(ctx context.Context, overrides map[string]int) error {
	for host, n := range overrides {
		if ip, err := netip.ParseAddr(host); err == nil {
			l.overrides[ip.Unmap()] = n
			continue
		}
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return err
		}
		for _, ip := range ips {
			l.overrides[ip.Unmap()] = n
		}
	}
	return nil
}

// waitRoom waits until the listener may have another connection: its own bound, and for all but the inter-broker
// listener the broker's, too. Connections meanwhile wait in the kernel's backlog. take takes the room.
func (l *limits) waitRoom(ctx context.Context, li *listener, take bool) error {
	for {
		freed, ok := l.room(li, take)
		if ok {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		case <-li.stopped:
			return net.ErrClosed
		}
	}
}

func (l *limits) room(li *listener, take bool) (freed <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ok = li.MaxConns <= 0 || l.mu.byListener[li] < li.MaxConns
	if ok && !li.InterBroker {
		ok = l.maxTotal <= 0 || l.mu.total < l.maxTotal
	}
	if ok && take {
		l.mu.total++
		l.mu.byListener[li]++
	}
	return l.mu.freed, ok
}

// addIP counts a connection of an address, unless that has its share already; most says how many that are.
func (l *limits) addIP(ip netip.Addr) (most int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most, bounded := l.overrides[ip]
	if !bounded {
		most, bounded = l.maxPerIP, l.maxPerIP > 0
	}
	if bounded && l.mu.byIP[ip] >= most {
		return most, false
	}
	l.mu.byIP[ip]++
	return most, true
}

// removeIP takes a connection out of the count of its address.
func (l *limits) removeIP(ip netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.byIP[ip]--; l.mu.byIP[ip] <= 0 {
		delete(l.mu.byIP, ip)
	}
}

// free gives the room of a connection back, and wakes who waits for it.
func (l *limits) free(li *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.total--
	l.mu.byListener[li]--
	close(l.mu.freed)
	l.mu.freed = make(chan struct{})
}

// addrIP is the IP of a TCP address, an IPv4 address in IPv6 form as plain IPv4.
func addrIP(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
