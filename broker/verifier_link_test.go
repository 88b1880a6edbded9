package broker

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// oldBroker knows AddPartitionsToTxn up to a version, or not at all with -1.
type oldBroker struct {
	max    int16
	asked  []int16
	err    error
	closed bool
}

func (o *oldBroker) Request(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
	switch req := req.(type) {
	case *kmsg.ApiVersionsRequest:
		resp := kmsg.NewPtrApiVersionsResponse()
		resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 0, MaxVersion: 11}}
		if o.max >= 0 {
			resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: 24, MaxVersion: o.max})
		}
		return resp, o.err
	case *kmsg.AddPartitionsToTxnRequest:
		o.asked = append(o.asked, req.Version)
		return echo(req), nil
	default:
		return nil, errors.New("unexpected request")
	}
}

func (o *oldBroker) Close() error {
	o.closed = true
	return nil
}

// A coordinator is asked at the version that it knows; one from before KIP-890 is not asked, and everything passes.
func TestVerifierLink_OlderCoordinator_AskedAtItsVersion(t *testing.T) {
	for _, c := range []struct {
		name  string
		max   int16
		asked []int16
		code  int16 // for partition 7, which echo refuses with its number
	}{
		{"Kafka 3.9", 5, []int16{5}, 7},
		{"a later one", 9, []int16{5}, 7},
		{"Kafka 3.6", 4, []int16{4}, 7},
		{"Kafka 3.5", 3, nil, 0},
		{"without transactions", -1, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &oldBroker{max: c.max}
			link, err := newVerifierLink(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := link.Request(t.Context(), verifyRequest([]*verification{{id: "x", producer: 1, tps: tps("a", 7)}}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.asked, o.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			x := resp.(*kmsg.AddPartitionsToTxnResponse).Transactions[0]
			if p := x.Topics[0].Partitions[0]; x.TransactionalID != "x" || x.Topics[0].Topic != "a" || p.Partition != 7 || p.ErrorCode != c.code {
				t.Errorf("answer %+v", x)
			}
		})
	}
}

func TestVerifierLink_NoVersions_Closed(t *testing.T) {
	o := &oldBroker{err: errors.New("reset")}
	if _, err := newVerifierLink(t.Context(), o); !errors.Is(err, o.err) || !o.closed {
		t.Errorf("%v, closed %v", err, o.closed)
	}
}
