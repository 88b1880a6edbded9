package broker

import (
	"net"
	"testing"
)

func TestProfiles_AddressWithoutHost_IsLoopback(t *testing.T) {
	for addr, loopback := range map[string]bool{":0": true, "0.0.0.0:0": false} {
		s, err := openProfileServer(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.listener.Addr().(*net.TCPAddr).IP.IsLoopback(); got != loopback {
			t.Errorf("%s: bound to %v", addr, s.listener.Addr())
		}
		if err := s.listener.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := openProfileServer(t.Context(), "6060"); err == nil {
		t.Error("a bare port is taken")
	}
}
