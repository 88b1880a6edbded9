package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	dialTimeout = 10 * time.Second
	// callTimeout bounds everything that waits for a broker: an answer that takes longer is a failure.
	callTimeout = 60 * time.Second
	// readBuffer holds many small answers, so that a pipelined run reads them with one system call.
	readBuffer = 64 << 10
)

// conn is one connection to one broker. Frames may be pipelined: the answers come in order.
type conn struct {
	net.Conn
	r *bufio.Reader
}

func dial(ctx context.Context, addr string) (*conn, error) {
	c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, r: bufio.NewReaderSize(c, readBuffer)}, nil
}

// frame encodes one request at a version, size included.
func frame(req kmsg.Request, version int16) []byte {
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, req, 0)
}

// size reads the size of the next response; that many bytes follow.
func (c *conn) size() (int, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, err
	}
	return int(binary.BigEndian.Uint32(head[:])), nil
}

// response reads the next response into buf, which grows as needed: correlation id and body.
func (c *conn) response(buf []byte) ([]byte, error) {
	n, err := c.size()
	if err != nil {
		return buf, err
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err = io.ReadFull(c.r, buf)
	return buf, err
}

// whole tells whether a complete response is in the buffer already.
func (c *conn) whole() bool {
	if c.r.Buffered() < 4 {
		return false
	}
	head, err := c.r.Peek(4)
	return err == nil && c.r.Buffered() >= 4+int(binary.BigEndian.Uint32(head))
}

// call sends one request and decodes the response. Only for versions without tagged fields.
func (c *conn) call(req kmsg.Request, version int16) (kmsg.Response, error) {
	if err := c.SetDeadline(time.Now().Add(callTimeout)); err != nil {
		return nil, err
	}
	if _, err := c.Write(frame(req, version)); err != nil {
		return nil, err
	}
	body, err := c.response(nil)
	if err != nil {
		return nil, err
	}
	if len(body) < 4 {
		return nil, fmt.Errorf("response of %d bytes", len(body))
	}
	resp := req.ResponseKind()
	resp.SetVersion(version)
	return resp, resp.ReadFrom(body[4:])
}
