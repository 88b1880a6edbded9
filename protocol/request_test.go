package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// everyVersion runs f for all requests of the table.
func everyVersion(t *testing.T, f func(t *testing.T, api API, version int16)) {
	t.Helper()
	for _, api := range Table() {
		for v := api.Min; v <= api.Max; v++ {
			t.Run(fmt.Sprintf("%s-v%d", api.Name, v), func(t *testing.T) { f(t, api, v) })
		}
	}
}

func randomRequest(r *rand.Rand, api API, version int16) kmsg.Request {
	req := kmsg.RequestForKey(api.Key)
	req.SetVersion(version)
	fill(r, reflect.ValueOf(req).Elem())
	return req
}

func TestTable_AgreesWithKmsg(t *testing.T) {
	last := int16(-1)
	for _, api := range Table() {
		if api.Key <= last {
			t.Errorf("%s: not in order", api.Name)
		}
		last = api.Key
		if got := kmsg.NameForKey(api.Key); !strings.EqualFold(strings.Replace(got, "Assignments", "Reassignments", 1), api.Name) {
			t.Errorf("key %d is %s, not %s", api.Key, got, api.Name)
		}
		req := kmsg.RequestForKey(api.Key)
		for v := api.Min; v <= api.Max; v++ {
			req.SetVersion(v)
			resp := req.ResponseKind()
			if req.IsFlexible() != (v >= api.Flexible) || resp.IsFlexible() != req.IsFlexible() || v > req.MaxVersion() {
				t.Errorf("%s v%d: flexible %v %v", api.Name, v, req.IsFlexible(), resp.IsFlexible())
			}
		}
	}
}

// The schemas are proven against kmsg: what it encodes passes, and a body with a byte less or more does not.
func TestDecodeBody_RandomRequests_ComeBack(t *testing.T) {
	everyVersion(t, func(t *testing.T, api API, version int16) {
		r := rand.New(rand.NewPCG(uint64(api.Key), uint64(version)))
		for range 200 {
			req := randomRequest(r, api, version)
			wire := AppendRequest(nil, "client", 7, req)
			h, body, err := ParseRequest(wire[4:])
			if err != nil {
				t.Fatal(err)
			}
			if h != (Header{Key: api.Key, Version: version, CorrelationID: 7, ClientID: h.ClientID, HasClientID: h.HasClientID}) {
				t.Fatalf("header %+v", h)
			}
			got, err := DecodeBody(h, body)
			if err != nil {
				t.Fatalf("%v\n%#v", err, req)
			}
			if back := got.AppendTo(nil); !bytes.Equal(back, body) {
				t.Fatalf("came back different\n%x\n%x", body, back)
			}
			_, err = DecodeBody(h, append(body[:len(body):len(body)], 0))
			if forgiven := kmsg.Key(h.Key) == kmsg.AlterUserSCRAMCredentials; errors.Is(err, ErrMalformed) == forgiven {
				t.Fatalf("a zero byte left over: %v", err)
			}
			if _, err := DecodeBody(h, append(body[:len(body):len(body)], 1)); !errors.Is(err, ErrMalformed) {
				t.Fatalf("a byte left over: %v", err)
			}
			for range 3 {
				if len(body) > 0 {
					if _, err := DecodeBody(h, body[:r.IntN(len(body))]); !errors.Is(err, ErrMalformed) {
						t.Fatalf("cut body: %v", err)
					}
				}
			}
		}
	})
}

func TestDecodeBody_LyingLengths_Malformed(t *testing.T) {
	for _, tc := range []struct {
		name    string
		key     int16
		version int16
		body    string
	}{
		{"Metadata v1, 2^31-1 topics", 3, 1, "\x7f\xff\xff\xff"},
		{"Metadata v1, -2 topics", 3, 1, "\xff\xff\xff\xfe"},
		{"Metadata v0, null topics", 3, 0, "\xff\xff\xff\xff"},
		{"Metadata v9, 2^32-2 topics", 3, 9, "\xff\xff\xff\xff\x0f\x01\x00\x00\x00"},
		{"Metadata v9, number of six bytes", 3, 9, "\x80\x80\x80\x80\x80\x00\x01\x00\x00\x00"},
		{"Metadata v9, number above 32 bits", 3, 9, "\xff\xff\xff\xff\x1f\x01\x00\x00\x00"},
		{"Metadata v1, string longer than the frame", 3, 1, "\x00\x00\x00\x01\x40\x00t"},
		{"Metadata v1, string of length -2", 3, 1, "\x00\x00\x00\x01\xff\xfe"},
		{"Metadata v1, null topic name", 3, 1, "\x00\x00\x00\x01\xff\xff"},
		{"Metadata v9, null topic name", 3, 9, "\x02\x00\x00\x01\x00\x00\x00"},
		{"Metadata v1, bytes left over", 3, 1, "\xff\xff\xff\xff\x00"},
		{"Metadata v9, tags left over", 3, 9, "\x00\x01\x00\x00\x00\x00"},
		{"Metadata v9, a tag past the end", 3, 9, "\x00\x01\x00\x00\x01\x05\x0a1"},
		{"Metadata v9, 2^28 tags", 3, 9, "\x00\x01\x00\x00\xff\xff\xff\x7f"},
		{"Produce v3, null topics", 0, 3, "\xff\xff\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff"},
		{"Produce v3, nested counts of a million", 0, 3, "\xff\xff\x00\x01\x00\x00\x00\x00\x00\x0f\x42\x40" + strings.Repeat("\x00\x00\x00\x0f\x42\x40", 30)},
		{"Fetch v4, cut short", 1, 4, "\x00\x00\x00\x00\x00"},
		{"nothing", 3, 12, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := Header{Key: tc.key, Version: tc.version}
			if _, err := DecodeBody(h, []byte(tc.body)); !errors.Is(err, ErrMalformed) {
				t.Errorf("got %v, want ErrMalformed", err)
			}
			if n := testing.AllocsPerRun(10, func() { _, _ = Check(h, []byte(tc.body)) }); n > 12 {
				t.Errorf("%v allocations to refuse it", n)
			}
		})
	}
}

func TestDecodeBody_UnknownTags_Skipped(t *testing.T) {
	body := "\x00\x01\x00\x00\x02\x05\x02ab\x09\x00"
	if _, err := DecodeBody(Header{Key: 3, Version: 9}, []byte(body)); err != nil {
		t.Error(err)
	}
}

// A valid request of two bytes an element must be paid for before kmsg makes its structs.
func TestCheck_ManySmallElements_CostTold(t *testing.T) {
	body := append([]byte{0, 0x0f, 0x42, 0x40}, make([]byte, 2_000_000)...)
	cost, err := Check(Header{Key: 3, Version: 0}, body)
	if err != nil || cost < 48<<20 {
		t.Errorf("cost %d, %v", cost, err)
	}
	body = append([]byte{0, 0x98, 0x96, 0x80}, make([]byte, 20_000_000)...)
	if _, err := Check(Header{Key: 3, Version: 0}, body); !errors.Is(err, ErrMalformed) {
		t.Errorf("ten million topics: %v", err)
	}
	body = append([]byte{0, 1, 0, 0, 0x80, 0xad, 0xe2, 0x04}, make([]byte, 20_000_000)...)
	if _, err := Check(Header{Key: 3, Version: 9}, body); !errors.Is(err, ErrMalformed) {
		t.Errorf("ten million tagged fields: %v", err)
	}
}

func TestParseRequest_Headers(t *testing.T) {
	for _, tc := range []struct {
		name, frame string
		want        Header
		body        string
		err         error
	}{
		{"v1 with client id", "\x00\x03\x00\x01\x00\x00\x00\x09\x00\x02abXX", Header{3, 1, 9, "ab", true}, "XX", nil},
		{"v1 with null client id", "\x00\x03\x00\x01\x00\x00\x00\x09\xff\xffXX", Header{3, 1, 9, "", false}, "XX", nil},
		{"v2 with unknown tag", "\x00\x03\x00\x09\x00\x00\x00\x09\x00\x01a\x01\x03\x01zXX", Header{3, 9, 9, "a", true}, "XX", nil},
		{"ControlledShutdown v0 has a header of version 0", "\x00\x07\x00\x00\x00\x00\x00\x09\x00\x00\x00\x01", Header{7, 0, 9, "", false}, "\x00\x00\x00\x01", nil},
		{"ApiVersions of the future", "\x00\x12\x00\x63\x00\x00\x00\x09\x00\x01a\x00\xde\xad", Header{18, 99, 9, "a", true}, "\xde\xad", nil},
		{"seven bytes", "\x00\x03\x00\x01\x00\x00\x00", Header{}, "", ErrMalformed},
		{"client id past the end", "\x00\x03\x00\x01\x00\x00\x00\x09\x00\x05ab", Header{}, "", ErrMalformed},
		{"client id of length -2", "\x00\x03\x00\x01\x00\x00\x00\x09\xff\xfe", Header{}, "", ErrMalformed},
		{"no tags", "\x00\x03\x00\x09\x00\x00\x00\x09\x00\x01a", Header{}, "", ErrMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, body, err := ParseRequest([]byte(tc.frame))
			if !errors.Is(err, tc.err) || (err == nil && (h != tc.want || string(body) != tc.body)) {
				t.Errorf("got %+v %q %v", h, body, err)
			}
		})
	}
	for _, frame := range []string{"\x03\xe7\x00\x00\x00\x00\x00\x01\xff\xff", "\x00\x03\x00\x63\x00\x00\x00\x01\xff\xff", "\xff\xff\x00\x00\x00\x00\x00\x01"} {
		var ue *UnsupportedError
		if _, _, err := ParseRequest([]byte(frame)); !errors.As(err, &ue) {
			t.Errorf("%q: %v, want UnsupportedError", frame, err)
		}
	}
}

func TestCheck_GoodBodies_DoesNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, api := range Table() {
		h, body, err := ParseRequest(AppendRequest(nil, "c", 1, randomRequest(r, api, api.Max))[4:])
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(20, func() { _, _ = Check(h, body) }); n != 0 {
			t.Errorf("%s: %v allocations", api.Name, n)
		}
	}
}

func FuzzRequest(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, api := range Table() {
		f.Add(AppendRequest(nil, "c", 1, randomRequest(r, api, api.Max))[4:])
		f.Add(AppendRequest(nil, "c", 1, randomRequest(r, api, api.Min))[4:])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := ParseRequest(frame)
		if err != nil {
			return
		}
		cost, err := Check(h, body)
		if err != nil {
			return
		}
		if _, err := DecodeChecked(h, body); err != nil {
			t.Fatalf("%+v passed the check (cost %d), but: %v", h, cost, err)
		}
	})
}
