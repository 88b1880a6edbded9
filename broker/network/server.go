package network

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"jackdaw/internal/budget"

	"github.com/prometheus/client_golang/prometheus"
)

// ListenerConfig is one listener.
type ListenerConfig struct {
	// Name as in the configuration: PLAINTEXT, INTERNAL, ...
	Name string
	// Addr is host:port to bind, host empty for all, port 0 for any free one.
	Addr string
	// MaxConns bounds the connections of this listener; 0 is no bound (max.connections of the listener).
	MaxConns int
	// InterBroker marks the listener brokers use among themselves: the broker-wide bound never stops it.
	InterBroker bool
}

// Options configure a Server.
type Options struct {
	Listeners []ListenerConfig
	Handler   Handler
	// MaxRequestBytes is socket.request.max.bytes; 0 is 100 MiB.
	MaxRequestBytes int
	// MaxConns is max.connections of the whole broker; 0 is no bound.
	MaxConns int
	// MaxConnsPerIP is max.connections.per.ip, with overrides by IP or host name; 0 in MaxConnsPerIP is no bound.
	MaxConnsPerIP          int
	MaxConnsPerIPOverrides map[string]int
	// IdleTimeout is connections.max.idle.ms; 0 is 10 minutes, below 0 never.
	IdleTimeout time.Duration
	// MaxInFlight bounds the unmuted requests in work of one connection; 0 is 64.
	MaxInFlight int
	// SendBuffer and ReceiveBuffer are socket.send.buffer.bytes and socket.receive.buffer.bytes; <= 0 leaves the system's.
	SendBuffer, ReceiveBuffer int
	// Backlog is not settable in Go: socket.listen.backlog.size is ignored.

	// Budget bounds the bytes of requests in work; nil is unbounded.
	Budget  *budget.Budget
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Server accepts and serves connections. Kafka: SocketServer.
type Server struct{}

// New returns a server that does nothing yet.
func New(o Options) *Server { return &Server{} }

// Start binds all listeners, so that their addresses are known; connections wait in the backlog until Run. The error names the listener.
func (s *Server) Start() error { return errors.ErrUnsupported }

// Addr is the bound address of a listener, nil for an unknown one.
func (s *Server) Addr(listener string) net.Addr { return nil }

// Run accepts and serves until ctx ends or Close.
func (s *Server) Run(ctx context.Context) error { return errors.ErrUnsupported }

// StopAccepting closes the listeners; connections go on.
func (s *Server) StopAccepting() {}

// Close stops accepting, reads no more requests, sends the answers of those in work until ctx ends, and closes all connections.
func (s *Server) Close(ctx context.Context) error { return nil }
