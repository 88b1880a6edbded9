package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Options say how to reach another broker.
type Options struct {
	// ClientID is sent with each request. Kafka uses the sender's broker id, and broker-N-fetcher-M for fetchers.
	ClientID string
	// TLS is nil for a plaintext listener.
	TLS *tls.Config
	// Timeout bounds the connection set-up and each request; 0 is 30 s.
	Timeout time.Duration
	// ReadBuffer and WriteBuffer are the socket buffers in bytes; 0 leaves what the system has.
	ReadBuffer, WriteBuffer int
	// MaxResponseBytes bounds the size that a peer may announce for a response; 0 is 100 MiB.
	MaxResponseBytes int
}

// Conn is a connection to another broker with one request in flight. Kafka: NetworkClient, InterBrokerSendThread.
type Conn struct{}

// Dial connects to addr (host:port).
func Dial(ctx context.Context, addr string, o Options) (*Conn, error) {
	return nil, errors.New("not connected")
}

// Request sends req at the version that is set in it and returns the response. The response, and all it points to, is
// valid until the next Request.
func (c *Conn) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return nil, errors.New("not connected")
}

// Close ends the connection, and a Request that waits. It is idempotent.
func (c *Conn) Close() error { return nil }
