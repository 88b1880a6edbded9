//go:build compat

package compat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/wire"
)

// offered asks a broker for its range of versions of an API; ok is false when it does not have it.
func offered(t *testing.T, addr string, key int16) (low, high int16, ok bool) {
	t.Helper()
	r := ask[*kmsg.ApiVersionsResponse](t, addr, newApiVersions(), 3)
	for _, k := range r.ApiKeys {
		if k.ApiKey == key {
			return k.MinVersion, k.MaxVersion, true
		}
	}
	return 0, 0, false
}

// needVersion skips the test on a broker that does not offer a version of an API.
func needVersion(t *testing.T, addr string, key kmsg.Key, version int16) {
	t.Helper()
	if low, high, ok := offered(t, addr, int16(key)); !ok || version < low || version > high {
		t.Skipf("%s v%d is not offered (%d to %d, %v)", key.Name(), version, low, high, ok)
	}
}

func newApiVersions() *kmsg.ApiVersionsRequest {
	r := kmsg.NewPtrApiVersionsRequest()
	r.ClientSoftwareName, r.ClientSoftwareVersion = "compat", "1"
	return r
}

func TestApiVersions_NewerThanTheBroker_AnsweredInVersion0(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	_, high, _ := offered(t, addr, 18)
	for _, version := range []int16{high + 1, 99, 127} {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			conn := dial(t, addr)
			body := []byte("\x0anew-client\x02v\x01\x00\x05what?") // nothing the broker could know
			if err := conn.WriteRaw(wire.Frame(18, version, 77, true, body)); err != nil {
				t.Fatal(err)
			}
			frame, err := conn.ReadFrame(wire.Timeout)
			if err != nil {
				t.Fatal(err)
			}
			want := binary.BigEndian.AppendUint32(nil, 77)
			want = append(want, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0)
			want = binary.BigEndian.AppendUint16(want, uint16(high))
			if !bytes.Equal(frame, want) {
				t.Fatalf("answer % x\nwant   % x", frame, want)
			}
			// The connection goes on.
			r, err := conn.Do(newApiVersions(), high)
			if err != nil || r.(*kmsg.ApiVersionsResponse).ErrorCode != 0 {
				t.Fatalf("the retry at v%d: %+v, %v", high, r, err)
			}
			if _, err := conn.Do(wire.NewMetadata(), 12); err != nil {
				t.Errorf("metadata afterwards: %v", err)
			}
		})
	}
}

func TestApiVersions_EachVersion_SameKeys(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	_, high, _ := offered(t, addr, 18)
	var first []kmsg.ApiVersionsResponseApiKey
	for version := range high + 1 {
		r := ask[*kmsg.ApiVersionsResponse](t, addr, newApiVersions(), version)
		if r.ErrorCode != 0 {
			t.Errorf("v%d: error %d", version, r.ErrorCode)
		}
		if version == 0 {
			first = r.ApiKeys
		}
		if !slices.EqualFunc(first, r.ApiKeys, func(a, b kmsg.ApiVersionsResponseApiKey) bool {
			return a.ApiKey == b.ApiKey && a.MinVersion == b.MinVersion && a.MaxVersion == b.MaxVersion
		}) {
			t.Errorf("v%d lists other keys than v0", version)
		}
		for _, f := range r.SupportedFeatures {
			if version < 4 && f.MinVersion == 0 {
				t.Errorf("v%d lists feature %s with minimum 0", version, f.Name)
			}
		}
	}
}

// TestApiVersions_Offer_IsTheOneOf39: what is offered is what Apache Kafka 3.9.2 offers in ZooKeeper mode, no API more or less.
func TestApiVersions_Offer_IsTheOneOf39(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	text, err := os.ReadFile("testdata/apiversions-3.9.2.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[int16]string{}
	for line := range strings.Lines(string(text)) {
		var key, low, high int16
		var name string
		if _, err := fmt.Sscan(line, &key, &name, &low, &high); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want[key] = fmt.Sprintf("%d to %d", low, high)
	}
	got := map[int16]string{}
	for _, k := range ask[*kmsg.ApiVersionsResponse](t, addr, newApiVersions(), 3).ApiKeys {
		got[k.ApiKey] = fmt.Sprintf("%d to %d", k.MinVersion, k.MaxVersion)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("offered, by key (- Kafka 3.9, + here):\n%s", diff)
	}
}

// TestApiVersions_UnofferedVersion_Closed: any other API at a version nobody offered has no answer but the end of the connection.
func TestApiVersions_UnofferedVersion_Closed(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	for _, f := range []struct {
		name         string
		key, version int16
	}{{"metadata 99", 3, 99}, {"key 999", 999, 0}, {"key -1", -1, 0}, {"produce -1", 0, -1}, {"fetch 127", 1, 127}} {
		t.Run(f.name, func(t *testing.T) {
			expectClosed(t, addr, wire.Frame(f.key, f.version, 9, false, []byte{0}))
		})
	}
	checkAlive(t, c)
}
