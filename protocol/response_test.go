package protocol

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestAppendResponse_EveryVersion_ComesBack(t *testing.T) {
	everyVersion(t, func(t *testing.T, api API, version int16) {
		r := rand.New(rand.NewPCG(uint64(api.Key), uint64(version)))
		req := kmsg.RequestForKey(api.Key)
		req.SetVersion(version)
		for range 20 {
			resp := req.ResponseKind()
			fill(r, reflect.ValueOf(resp).Elem())
			resp.SetVersion(version)
			want := resp.AppendTo(nil)
			wire := AppendResponse([]byte("xx"), Header{Key: api.Key, Version: version, CorrelationID: 77}, resp)[2:]
			if int(wire[2])<<8+int(wire[3]) != (len(wire)-4)&0xffff {
				t.Fatalf("size % x of %d bytes", wire[:4], len(wire))
			}
			corr, body, err := ParseResponse(api.Key, version, wire[4:])
			if err != nil || corr != 77 || !bytes.Equal(body, want) {
				t.Fatalf("correlation id %d, %v", corr, err)
			}
		}
	})
}

func TestAppendResponse_UnknownApiVersions_KafkasBytes(t *testing.T) {
	// Kafka 3.9.2's answer to ApiVersions version 99 with correlation id 9.
	const want = "00000009002300000001001200000004"
	h := Header{Key: 18, Version: 99, CorrelationID: 9}
	req, err := DecodeBody(h, []byte{0xde, 0xad})
	if err != nil || req.GetVersion() != 99 {
		t.Fatalf("%v %v", req, err)
	}
	got := AppendResponse(nil, h, kmsg.NewPtrApiVersionsResponse())
	if hex.EncodeToString(got[4:]) != want || got[3] != 16 {
		t.Errorf("got %x", got)
	}
}

func TestAppendResponse_ApiVersions_HeaderWithoutTags(t *testing.T) {
	resp := kmsg.NewPtrApiVersionsResponse()
	for v := int16(0); v <= 4; v++ {
		resp.SetVersion(v)
		want := resp.AppendTo(nil)
		if got := AppendResponse(nil, Header{Key: 18, Version: v}, resp); !bytes.Equal(got[8:], want) {
			t.Errorf("v%d: %x", v, got)
		}
	}
}

func TestErrorCode_Chain(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code int16
		text string
	}{
		{kerr.NotController, 41, kerr.NotController.Description},
		{kerr.TopicAuthorizationFailed, 29, "Topic authorization failed."},
		{kerr.GroupAuthorizationFailed, 30, "Group authorization failed."},
		{fmt.Errorf("append: %w", kerr.NotEnoughReplicas), 19, kerr.NotEnoughReplicas.Description},
		{fmt.Errorf("create: %w", WithMessage(kerr.InvalidPartitions, "Number of partitions must be larger than 0.")), 37, "Number of partitions must be larger than 0."},
		{errors.New("boom"), -1, kerr.UnknownServerError.Description},
	} {
		if got := ErrorCode(tc.err); got != tc.code {
			t.Errorf("%v: code %d, want %d", tc.err, got, tc.code)
		}
		if got := ErrorMessage(tc.err); got == nil || *got != tc.text {
			t.Errorf("%v: message %v, want %q", tc.err, got, tc.text)
		}
	}
	if ErrorCode(nil) != 0 || ErrorMessage(nil) != nil {
		t.Error("nil is no error")
	}
}
