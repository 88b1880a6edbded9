package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Timeout is how long an answer may take.
const Timeout = 15 * time.Second

// ErrClosed says that the broker closed the connection instead of answering.
var ErrClosed = errors.New("connection closed without an answer")

// ErrSilent says that no answer came in time and the connection stayed open.
var ErrSilent = errors.New("no answer")

// Conn is one TCP connection to a broker. It is not safe for concurrent use.
type Conn struct {
	net.Conn
	ClientID string
	next     int32 // correlation id of the next request
}

// Dial opens a connection.
func Dial(addr string) (*Conn, error) { return DialFrom("", addr) }

// DialFrom is Dial from an address of this machine, such as 127.0.0.2; "" is whichever.
func DialFrom(source, addr string) (*Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second}
	if source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	c, err := d.DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	return &Conn{Conn: c, ClientID: "compat", next: 1}, nil
}

// WriteRequest sends a request at a version and returns its correlation id; the answer is left to Read.
func (c *Conn) WriteRequest(req kmsg.Request, version int16) (int32, error) {
	req.SetVersion(version)
	id := c.next
	c.next++
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.ClientID)).AppendRequest(nil, req, id)
	return id, c.WriteRaw(frame)
}

// WriteRaw sends bytes as they are.
func (c *Conn) WriteRaw(p []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(Timeout)); err != nil {
		return err
	}
	_, err := c.Write(p)
	return err
}

// ReadFrame reads one answer: the size is taken off, the correlation id is in front. ErrClosed or ErrSilent when there is none.
func (c *Conn) ReadFrame(limit time.Duration) ([]byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, readError(err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, frame); err != nil {
		return nil, fmt.Errorf("answer cut short: %w", err)
	}
	return frame, nil
}

func readError(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrSilent
	default:
		return err
	}
}

// ReadResponse reads the answer to a request that was written with the given correlation id. Bytes left over after the body are an error.
func (c *Conn) ReadResponse(req kmsg.Request, id int32, limit time.Duration) (kmsg.Response, error) {
	frame, err := c.ReadFrame(limit)
	if err != nil {
		return nil, err
	}
	return Decode(req, id, frame)
}

// Decode decodes an answer that still has its correlation id.
func Decode(req kmsg.Request, id int32, frame []byte) (kmsg.Response, error) {
	if len(frame) < 4 {
		return nil, fmt.Errorf("answer of %d bytes", len(frame))
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != id {
		return nil, fmt.Errorf("correlation id %d, want %d", got, id)
	}
	body := frame[4:]
	if req.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		if len(body) == 0 || body[0] != 0 {
			return nil, fmt.Errorf("response header without an empty tag section: % x", body[:min(8, len(body))])
		}
		body = body[1:]
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%s v%d: %w", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	// What is read again must be what was sent: nothing left over, nothing missing.
	if again := resp.AppendTo(nil); len(again) != len(body) && req.Key() != int16(kmsg.Fetch) {
		return nil, fmt.Errorf("%s v%d: body of %d bytes, %d of them make sense", kmsg.NameForKey(req.Key()), req.GetVersion(), len(body), len(again))
	}
	return resp, nil
}

// Do sends a request at a version and waits for its answer.
func (c *Conn) Do(req kmsg.Request, version int16) (kmsg.Response, error) {
	id, err := c.WriteRequest(req, version)
	if err != nil {
		return nil, readError(err)
	}
	return c.ReadResponse(req, id, Timeout)
}

// Do sends one request on a connection of its own.
func Do(addr string, req kmsg.Request, version int16) (kmsg.Response, error) {
	c, err := Dial(addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	return c.Do(req, version)
}

// Ask is Do with the type of the answer: wire.Ask[*kmsg.MetadataResponse](addr, req, 12).
func Ask[R kmsg.Response](addr string, req kmsg.Request, version int16) (R, error) {
	var none R
	resp, err := Do(addr, req, version)
	if err != nil {
		return none, err
	}
	typed, ok := resp.(R)
	if !ok {
		return none, fmt.Errorf("answer of type %T", resp)
	}
	return typed, nil
}

// Metadata asks for all topics at version 12.
func Metadata(addr string, topics ...string) (*kmsg.MetadataResponse, error) {
	return Ask[*kmsg.MetadataResponse](addr, NewMetadata(topics...), 12)
}
