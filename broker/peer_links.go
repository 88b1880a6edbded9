package broker

import (
	"context"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
	"jackdaw/peer"
	"jackdaw/replication"
)

// peerLinks keeps a connection to each other broker for one purpose, with a client id of its own. Requests to one broker
// must not overlap; those to different brokers may.
type peerLinks struct {
	dial func(ctx context.Context, to metadata.BrokerID) (replication.Leader, error)
	mu   struct {
		sync.Mutex
		links  map[metadata.BrokerID]replication.Leader
		closed bool
	}
}

func newPeerLinks(dial func(ctx context.Context, to metadata.BrokerID) (replication.Leader, error)) *peerLinks {
	l := &peerLinks{dial: dial}
	l.mu.links = map[metadata.BrokerID]replication.Leader{}
	return l
}

// Request asks a broker. The response is good until the next request to the same broker. A connection that the other side
// has closed meanwhile, perhaps only since it was idle, is replaced once; so what is asked must bear to be asked twice.
func (l *peerLinks) Request(ctx context.Context, to metadata.BrokerID, req kmsg.Request) (kmsg.Response, error) {
	for {
		link, used, err := l.link(ctx, to)
		if err != nil {
			return nil, err
		}
		resp, err := link.Request(ctx, req)
		if err == nil {
			return resp, nil
		}
		l.drop(to, link)
		if !used || !peer.IsReset(err) {
			return nil, err
		}
	}
}

// link returns the connection to a broker; used tells that it is not a new one.
func (l *peerLinks) link(ctx context.Context, to metadata.BrokerID) (link replication.Leader, used bool, err error) {
	l.mu.Lock()
	link, used = l.mu.links[to]
	l.mu.Unlock()
	if used {
		return link, true, nil
	}
	if link, err = l.dial(ctx, to); err != nil {
		return nil, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil, false, errors.Join(peer.ErrClosed, link.Close())
	}
	l.mu.links[to] = link
	return link, false, nil
}

func (l *peerLinks) drop(to metadata.BrokerID, link replication.Leader) {
	l.mu.Lock()
	if l.mu.links[to] == link {
		delete(l.mu.links, to)
	}
	l.mu.Unlock()
	_ = link.Close() // the error of the request is the one that counts
}

// Close ends all connections, and requests that wait on them.
func (l *peerLinks) Close() error {
	l.mu.Lock()
	l.mu.closed = true
	links := l.mu.links
	l.mu.links = map[metadata.BrokerID]replication.Leader{}
	l.mu.Unlock()
	var errs []error
	for _, link := range links {
		errs = append(errs, link.Close())
	}
	return errors.Join(errs...)
}
