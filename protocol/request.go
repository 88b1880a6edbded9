package protocol

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Header is the header of a request.
type Header struct {
	// Key and Version say what the body is.
	Key, Version int16
	// CorrelationID comes back in the response.
	CorrelationID int32
	// ClientID is the client's name for itself, "" when HasClientID is false.
	ClientID    string
	HasClientID bool
}

// UnsupportedError is a request for an API or a version that is not served. The connection must be closed.
type UnsupportedError struct{ Key, Version int16 }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s (key %d) version %d is not served", kmsg.NameForKey(e.Key), e.Key, e.Version)
}

// fixedHeader is the size of what every request header begins with: key, version, correlation id.
const fixedHeader = 8

// ParseRequest reads the header of a request. frame is what follows the size; body aliases it. The error wraps
// ErrMalformed, or is an *UnsupportedError for a key or version that is not served. ApiVersions is let through in any
// version: see DecodeBody. Kafka: RequestHeader.parse.
func ParseRequest(frame []byte) (h Header, body []byte, err error) {
	if len(frame) < fixedHeader {
		return Header{}, nil, fmt.Errorf("request of %d bytes: %w", len(frame), ErrMalformed)
	}
	h.Key = int16(binary.BigEndian.Uint16(frame))
	h.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(frame[4:]))
	api, ok := Lookup(h.Key)
	if !ok || (!api.Supports(h.Version) && h.Key != apiVersionsKey) {
		return h, nil, &UnsupportedError{Key: h.Key, Version: h.Version}
	}
	body = frame[fixedHeader:]
	if h.Key == controlledShutdownKey && h.Version == 0 {
		return h, body, nil // the only request with a header of version 0
	}
	if body, err = h.clientID(body); err != nil {
		return h, nil, err
	}
	if h.Version >= api.Flexible {
		body, err = skipTags(body)
	}
	return h, body, err
}

// clientID reads the nullable string that is not compact even in flexible versions.
func (h *Header) clientID(p []byte) (rest []byte, err error) {
	if len(p) < 2 {
		return nil, fmt.Errorf("header ends within the client id: %w", ErrMalformed)
	}
	n := int(int16(binary.BigEndian.Uint16(p)))
	p = p[2:]
	if n < -1 || n > len(p) {
		return nil, fmt.Errorf("client id of length %d: %w", n, ErrMalformed)
	}
	if n == -1 {
		return p, nil
	}
	h.ClientID, h.HasClientID = string(p[:n]), true
	return p[n:], nil
}

// skipTags passes over the tagged fields of a header; none is known.
func skipTags(p []byte) (rest []byte, err error) {
	w := walker{p: p, flexible: true}
	w.tags(&node{})
	if w.fault != "" {
		return nil, fmt.Errorf("header: %s: %w", w.fault, ErrMalformed)
	}
	return w.p, nil
}

// DecodeBody checks and decodes a body. Bytes fields of the result, records above all, alias body; strings are copied. An
// ApiVersions request of a version that is not served comes back at that version and without fields, as its body cannot
// be known; AppendResponse answers it right (KIP-511). The error wraps ErrMalformed or is an *UnsupportedError.
func DecodeBody(h Header, body []byte) (kmsg.Request, error) {
	if _, err := Check(h, body); err != nil {
		return nil, err
	}
	return DecodeChecked(h, body)
}

// DecodeChecked is DecodeBody for a body that has passed Check.
func DecodeChecked(h Header, body []byte) (kmsg.Request, error) {
	req := kmsg.RequestForKey(h.Key)
	if req == nil {
		return nil, &UnsupportedError{Key: h.Key, Version: h.Version}
	}
	req.SetVersion(h.Version)
	if api, ok := Lookup(h.Key); ok && !api.Supports(h.Version) {
		return req, nil
	}
	kmsgOrder(h.Key, h.Version, body)
	if err := req.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%s v%d: %w: %w", kmsg.NameForKey(h.Key), h.Version, err, ErrMalformed)
	}
	return req, nil
}

// AppendRequest appends a whole request: size, header, body at the version that is set on req.
func AppendRequest(dst []byte, clientID string, correlationID int32, req kmsg.Request) []byte {
	start := len(dst)
	key, version := req.Key(), req.GetVersion()
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if key != controlledShutdownKey || version != 0 {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(clientID)))
		dst = append(dst, clientID...)
		if req.IsFlexible() {
			dst = append(dst, 0)
		}
	}
	bodyAt := len(dst)
	dst = req.AppendTo(dst)
	kafkaOrder(key, version, dst[bodyAt:])
	return finish(dst, start)
}

// finish writes the size of the frame that begins at start.
func finish(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}
