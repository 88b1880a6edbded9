package log

import (
	"testing"
	"time"

	"jackdaw/internal/vfs"
	"jackdaw/protocol/record"
)

func TestSetProducerExpiration_Shorter_ForgetsIdleProducersOfLogsThatAreThere(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	f.append(l, f.batch(1, record.BuilderOptions{Producer: &record.Producer{ID: 7}}))
	f.now = f.now.Add(time.Hour)
	l.expireProducers()
	if n := len(l.ActiveProducers()); n != 1 {
		t.Fatalf("%d producers after an hour of 24, want 1", n)
	}
	f.m.SetProducerExpiration(time.Minute)
	l.expireProducers()
	if n := len(l.ActiveProducers()); n != 0 {
		t.Errorf("%d producers after an hour of one minute, want none", n)
	}
}
