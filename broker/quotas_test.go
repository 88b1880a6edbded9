package broker

import (
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/protocol"
	"jackdaw/quota"
)

// Without quotas, what each request pays for them is next to nothing: no memory, and no connection is looked at.
func TestQuotas_None_CostNothing(t *testing.T) {
	q := newQuotas(config.Quotas{Windows: 11, WindowSize: time.Second, ControllerWindows: 11, ControllerWindowSize: time.Second}, slog.Default())
	r := &network.Request{Header: protocol.Header{Key: int16(kmsg.Produce), ClientID: "c"}}
	n := testing.AllocsPerRun(1000, func() {
		if q.Active() || q.Use(quota.Produce, r, 1000) > 0 || q.RequestDelay(r) > 0 || q.MostFetched(r, 7) != 7 {
			t.Error("held up")
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkQuotas_None(b *testing.B) {
	q := newQuotas(config.Quotas{Windows: 11, WindowSize: time.Second}, slog.Default())
	r := &network.Request{Header: protocol.Header{Key: int16(kmsg.Produce), ClientID: "c"}}
	b.ReportAllocs()
	for b.Loop() {
		q.Use(quota.Produce, r, 1000)
		q.RequestDelay(r)
	}
}

func TestQuotaEntity_NodeNames_AreDecoded(t *testing.T) {
	for _, tc := range []struct {
		kind, node string
		want       quota.Entity
	}{
		{userEntity, "a%20b", quota.Entity{User: quota.Named("a b")}},
		{userEntity, "<default>/clients/c%2Fd", quota.Entity{User: quota.Default(), Client: quota.Named("c/d")}},
		{clientEntity, "<default>", quota.Entity{Client: quota.Default()}},
	} {
		if got, ok := quotaEntity(tc.kind, tc.node); !ok || got != tc.want {
			t.Errorf("%s %s: got %+v, %v", tc.kind, tc.node, got, ok)
		}
	}
	if _, ok := quotaEntity(ipEntity, "10.0.0.1"); ok {
		t.Error("an address has a quota of clients")
	}
}

// The credential of RFC 7677, section 3: user "user", password "pencil".
func TestScramCredential_ExampleOfTheRFC_HasItsKeys(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	salted, err := base64.StdEncoding.DecodeString("xKSVEDI6tPlSysH6mUQZOeeOp01r6B3fcJbodRPcYV0=")
	if err != nil {
		t.Fatal(err)
	}
	got := scramCredential(scramSHA256, salt, salted, 4096)
	want := "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=," +
		"server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	infos := credentialInfos(map[string]string{"SCRAM-SHA-256": got, "producer_byte_rate": "1"})
	if len(infos) != 1 || infos[0].Iterations != 4096 || infos[0].Mechanism != 1 {
		t.Errorf("described as %+v", infos)
	}
	if strings.Contains(got, base64.StdEncoding.EncodeToString(salted)) {
		t.Error("the salted password itself is kept")
	}
}
