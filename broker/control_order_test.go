package broker

import (
	"testing"
	"testing/synctest"
)

func TestControlOrder_OlderConnection_Refused(t *testing.T) {
	o := newControlOrder()
	for _, step := range []struct {
		name  string
		epoch int32
		conn  int64
		ok    bool
	}{
		{"the first request", 3, 10, true},
		{"the next by the same connection", 3, 10, true},
		{"another connection", 3, 12, true},
		{"late by the first one", 3, 10, false},
		{"a former controller, for others to refuse", 2, 50, true},
		{"the present one goes on", 3, 12, true},
		{"the next controller, connected long ago", 4, 5, true},
		{"the former one again, for others to refuse", 3, 12, true},
		{"late by a connection of before", 4, 4, false},
		{"the next controller goes on", 4, 5, true},
	} {
		leave, ok := o.begin(step.epoch, step.conn)
		if ok != step.ok {
			t.Errorf("%s: %v", step.name, ok)
		}
		if ok {
			leave()
		}
	}
}

// A late request must not begin before a newer one and end after it.
func TestControlOrder_TwoRequests_OneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newControlOrder()
		leave, _ := o.begin(1, 1)
		began := make(chan bool, 1)
		go func() {
			leave, ok := o.begin(1, 2)
			began <- ok
			leave()
		}()
		synctest.Wait()
		select {
		case <-began:
			t.Fatal("two requests at a time")
		default:
		}
		leave()
		if ok := <-began; !ok {
			t.Error("the newer connection is refused")
		}
	})
}
