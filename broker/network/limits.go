package network

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// limits counts connections, by listener and by address. Kafka: ConnectionQuotas.
type limits struct {
	mu struct {
		sync.Mutex
		maxTotal   int
		maxPerIP   int
		maxOf      map[string]int     // by listener
		overrides  map[netip.Addr]int // of maxPerIP
		total      int
		byListener map[*listener]int
		byIP       map[netip.Addr]int
		// freed is closed and replaced when a connection ends.
		freed chan struct{}
	}
}

func newLimits(o *Options) *limits {
	l := &limits{}
	l.mu.maxTotal, l.mu.maxPerIP = o.MaxConns, o.MaxConnsPerIP
	l.mu.maxOf = make(map[string]int)
	for _, li := range o.Listeners {
		l.mu.maxOf[li.Name] = li.MaxConns
	}
	l.mu.byListener = make(map[*listener]int)
	l.mu.byIP = make(map[netip.Addr]int)
	l.mu.freed = make(chan struct{})
	return l
}

// set replaces all bounds. Connections that there are stay, also those that are too many now.
func (l *limits) set(ctx context.Context, n Limits) error {
	overrides, err := resolve(ctx, n.MaxConnsPerIPOverrides)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.maxTotal, l.mu.maxPerIP, l.mu.overrides = n.MaxConns, n.MaxConnsPerIP, overrides
	if n.MaxConnsOf != nil {
		l.mu.maxOf = n.MaxConnsOf
	}
	l.wakeLocked()
	return nil
}

// resolve reads overrides, whose keys are addresses or host names.
func resolve(ctx context.Context, overrides map[string]int) (map[netip.Addr]int, error) {
	out := make(map[netip.Addr]int, len(overrides))
	for host, n := range overrides {
		if ip, err := netip.ParseAddr(host); err == nil {
			out[ip.Unmap()] = n
			continue
		}
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, err
		}
		for _, ip := range ips {
			out[ip.Unmap()] = n
		}
	}
	return out, nil
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
	most := l.mu.maxOf[li.Name]
	ok = most <= 0 || l.mu.byListener[li] < most
	if ok && !li.InterBroker {
		ok = l.mu.maxTotal <= 0 || l.mu.total < l.mu.maxTotal
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
	most, bounded := l.mu.overrides[ip]
	if !bounded {
		most, bounded = l.mu.maxPerIP, l.mu.maxPerIP > 0
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
	if l.mu.byListener[li]--; l.mu.byListener[li] == 0 {
		delete(l.mu.byListener, li) // it may have been removed
	}
	l.wakeLocked()
}

// wakeLocked makes all who wait for room look again.
func (l *limits) wakeLocked() {
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
