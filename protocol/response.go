package protocol

import "github.com/twmb/franz-go/pkg/kmsg"

// AppendResponse appends a whole response: size, response header, body at the version of h.
func AppendResponse(dst []byte, h Header, resp kmsg.Response) []byte { return dst }

// ParseResponse splits the frame of a response (without its size) to a request of this key and version into correlation id and body.
func ParseResponse(key, version int16, frame []byte) (correlationID int32, body []byte, err error) {
	return 0, nil, ErrMalformed
}
