package protocol

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendResponse appends a whole response to dst: size, response header, body at the version of h. The header of an
// ApiVersions response never has tagged fields, as its reader may not know the version yet; and the answer to a version of it
// that is not served is, whatever resp is, error 35 in version 0 with the one entry that helps (KIP-511).
func AppendResponse(dst []byte, h Header, resp kmsg.Response) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.CorrelationID))
	api, _ := Lookup(h.Key)
	if h.Key == apiVersionsKey && !api.Supports(h.Version) {
		return finish(appendUnknownApiVersions(dst, api), start)
	}
	resp.SetVersion(h.Version)
	if flexibleHeader(h.Key, resp) {
		dst = append(dst, 0)
	}
	return finish(resp.AppendTo(dst), start)
}

// flexibleHeader tells whether the response has a header of version 1, with tagged fields.
func flexibleHeader(key int16, resp kmsg.Response) bool {
	return key != apiVersionsKey && resp.IsFlexible()
}

func appendUnknownApiVersions(dst []byte, api API) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(kerr.UnsupportedVersion.Code))
	dst = binary.BigEndian.AppendUint32(dst, 1)
	for _, v := range [...]int16{api.Key, api.Min, api.Max} {
		dst = binary.BigEndian.AppendUint16(dst, uint16(v))
	}
	return dst
}

// ParseResponse splits the frame of a response (without its size) to a request of this key and version into correlation
// id and body, which aliases frame. The error wraps ErrMalformed.
func ParseResponse(key, version int16, frame []byte) (correlationID int32, body []byte, err error) {
	if len(frame) < 4 {
		return 0, nil, fmt.Errorf("response of %d bytes: %w", len(frame), ErrMalformed)
	}
	correlationID, body = int32(binary.BigEndian.Uint32(frame)), frame[4:]
	if api, ok := Lookup(key); ok && key != apiVersionsKey && version >= api.Flexible {
		body, err = skipTags(body)
	}
	return correlationID, body, err
}
