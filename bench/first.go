package bench

import (
	"context"
	"fmt"
	"time"
)

// FirstProduce waits until a broker that is starting acknowledges a small batch (acks=1) to a partition of an existing
// topic, and returns when that was. It asks anew every two milliseconds.
func FirstProduce(ctx context.Context, addr, topic string, partition int) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, createLimit)
	defer cancel()
	l := Load{Topic: topic, Acks: 1}
	batch, err := recordBatch(1, 100, "none")
	if err != nil {
		return time.Time{}, err
	}
	req := l.produceFrame(partition, batch)
	for {
		err := l.try(ctx, addr, req)
		if err == nil {
			return time.Now(), nil
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("broker %s acknowledges nothing: %w", addr, err)
		}
	}
}

// try sends one request on a connection of its own.
func (l Load) try(ctx context.Context, addr string, req []byte) error {
	c, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(callTimeout)) // a broken one fails the write
	if _, err := c.Write(req); err != nil {
		return err
	}
	_, err = l.produced(c, nil)
	return err
}
