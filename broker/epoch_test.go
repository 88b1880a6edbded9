package broker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
)

// A controller may still repeat what it has for the former life of this broker.
func TestCheckBrokerEpoch_NotRegistered_Waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Broker{registered: make(chan struct{})}
		b.brokerEpoch.Store(-1)
		result := make(chan error, 1)
		go func() { result <- b.checkBrokerEpoch(t.Context(), 7) }()
		synctest.Wait()
		select {
		case err := <-result:
			t.Fatalf("decided before the registration: %v", err)
		default:
		}
		b.brokerEpoch.Store(9)
		close(b.registered)
		if err := <-result; !errors.Is(err, kerr.StaleBrokerEpoch) {
			t.Errorf("a request for the former life: %v", err)
		}
		if err := b.checkBrokerEpoch(t.Context(), 9); err != nil {
			t.Errorf("a request for this life: %v", err)
		}
	})
}

func TestCheckBrokerEpoch_ConnectionEnds_Returns(t *testing.T) {
	b := &Broker{registered: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.checkBrokerEpoch(ctx, 7); err == nil {
		t.Error("accepted without a registration")
	}
}
