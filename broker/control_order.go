package broker

import (
	"fmt"

	"jackdaw/broker/network"
)

// controlOrder lets the requests of controllers act one at a time, and in the order in which a controller sent them. It
// waits for each answer, but when one does not come in time it connects again, repeats the request, and goes on:
//
//	StopReplica, which deletes t-0, is held up on the first connection;
//	its repetition on the second one is answered; t is created again, and LeaderAndIsr makes the new t-0;
//	the first StopReplica arrives and deletes it.
//
// LeaderAndIsr has epochs against that; StopReplica does not say which topic of that name it means, and UpdateMetadata
// nothing at all. But a controller has one connection at a time, so that an older one has nothing to say any more.
//
// Differs from Kafka: that executes what comes.
type controlOrder struct {
	// turn holds a token while a request acts, and guards the rest.
	turn chan struct{}
	// epoch is the controller's, conn its newest connection by which a request came.
	epoch int32
	conn  int64
}

func newControlOrder() *controlOrder { return &controlOrder{turn: make(chan struct{}, 1)} }

// begin waits for the request before. ok is false for a request by an older connection than one that has acted; else the
// caller ends with leave. A lower controller epoch is for others to refuse.
func (o *controlOrder) begin(epoch int32, conn int64) (leave func(), ok bool) {
	o.turn <- struct{}{}
	leave = func() { <-o.turn }
	switch {
	case epoch == o.epoch && conn < o.conn:
		leave()
		return nil, false
	case epoch >= o.epoch:
		o.epoch, o.conn = epoch, conn
	}
	return leave, true
}

// control runs a controller's request in its turn; act answers it, with the error that is given as a whole. What comes too
// late is not answered: should it be the controller after all, it connects again and repeats.
func (b *Broker) control(r *network.Request, brokerEpoch int64, controllerEpoch int32, act func(error)) {
	if err := b.checkBrokerEpoch(r.Context(), brokerEpoch); err != nil {
		act(err)
		return
	}
	leave, ok := b.order.begin(controllerEpoch, r.Conn.Number())
	if !ok {
		r.Close(fmt.Errorf("request of controller epoch %d by an older connection than the one in use", controllerEpoch))
		return
	}
	defer leave()
	act(nil)
}
