package zkstore

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Config tells how to reach ZooKeeper.
type Config struct {
	// Servers are host:port of the ensemble's members.
	Servers []string
	// Chroot is prefixed to every path, "" or "/kafka". It is created by Start when it is not there.
	Chroot string
	// SessionTimeout is asked from ZooKeeper, which may change it. Default 18 s.
	SessionTimeout time.Duration
	// ConnectTimeout bounds Start's wait for the first session. Default is SessionTimeout.
	ConnectTimeout time.Duration
	// MaxInFlight bounds how many operations of one pipelined call are under way. Default 10.
	MaxInFlight int
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Client keeps a session with ZooKeeper: it opens the first, and another whenever one is lost.
// Kafka: KafkaZkClient, ZooKeeperClient.
type Client struct {
	cfg Config
}

// NewClient allocates a client; Start connects it.
func NewClient(cfg Config) *Client { return &Client{cfg: cfg} }

// OnSession registers hooks, before Start. In every new session the started hooks run in the order of registration, each
// with a context that ends with the session. When a session is over the expired hooks run in reverse order, and all must
// have returned before the next session is opened. An error of a started hook ends Start in the first session; in a
// later one it is logged and the session is given up for another. Either hook may be nil.
func (c *Client) OnSession(name string, started func(ctx context.Context, s *Session) error, expired func()) {
}

// Start opens the first session and runs its hooks. It fails after ConnectTimeout when no server can be reached.
func (c *Client) Start(ctx context.Context) error { return errors.New("not implemented") }

// Close runs the expired hooks of the current session, closes it at the server, so that its ephemeral nodes are gone,
// and ends all goroutines. It may be called again.
func (c *Client) Close() {}

// Session returns the current session, nil while there is none.
func (c *Client) Session() *Session { return nil }
