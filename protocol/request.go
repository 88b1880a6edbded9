package protocol

import "github.com/twmb/franz-go/pkg/kmsg"

// Header is the header of a request.
type Header struct {
	// Key and Version say what the body is. Lookup(Key) succeeds; Version is served, or Key is ApiVersions.
	Key, Version int16
	// CorrelationID comes back in the response.
	CorrelationID int32
	// ClientID is the client's name for itself, "" when HasClientID is false.
	ClientID    string
	HasClientID bool
}

// ParseRequest reads the header of a request. frame is what follows the size; body aliases it. The error wraps ErrMalformed, or is an *UnsupportedError
// for a key or version that is not served (ApiVersions: never; see DecodeBody).
func ParseRequest(frame []byte) (h Header, body []byte, err error) { return Header{}, nil, ErrMalformed }

// DecodeBody decodes the body strictly. Record bytes of the result alias body, all else is copied. An ApiVersions request of
// a version that is not known comes back with that version and no fields: AppendResponse knows what to answer.
func DecodeBody(h Header, body []byte) (kmsg.Request, error) { return nil, ErrMalformed }

// AppendRequest appends a whole request: size, header, body at the version that is set on req.
func AppendRequest(dst []byte, clientID string, correlationID int32, req kmsg.Request) []byte { return dst }
