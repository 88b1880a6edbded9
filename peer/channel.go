package peer

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ChannelOptions say how a ControllerChannel finds the controller.
type ChannelOptions struct {
	Options
	// Lookup returns the address of the active controller; false while none is known.
	Lookup func() (addr string, ok bool)
}

// ControllerChannel carries requests to the active controller, one in flight, and asks again when the controller moved.
// Kafka: NodeToControllerChannelManager.
type ControllerChannel struct{}

// NewControllerChannel allocates a channel; it connects at the first request.
func NewControllerChannel(o ChannelOptions) *ControllerChannel { return &ControllerChannel{} }

// Request asks the active controller and returns its answer. It goes on until somebody answers who is the controller, or
// ctx ends. The response belongs to the caller.
func (c *ControllerChannel) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return nil, errors.New("no controller")
}

// Close ends the channel and the request that waits.
func (c *ControllerChannel) Close() error { return nil }
