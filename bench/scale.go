package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// IdleConnections opens n connections that have asked for ApiVersions, and then say nothing until they are closed.
func IdleConnections(ctx context.Context, addr string, n int) (io.Closer, error) {
	var all connections
	req := kmsg.NewPtrApiVersionsRequest()
	for range n {
		c, err := dial(ctx, addr)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		c.r = nil // a small reader will do, and only now
		all = append(all, c)
		if err := c.hello(req); err != nil {
			return nil, errors.Join(err, all.Close())
		}
	}
	return all, nil
}

type connections []*conn

func (all connections) Close() error {
	var err error
	for _, c := range all {
		err = errors.Join(err, c.Close())
	}
	return err
}

// hello asks for ApiVersions without the buffered reader.
func (c *conn) hello(req *kmsg.ApiVersionsRequest) error {
	_ = c.SetDeadline(time.Now().Add(callTimeout)) // a broken one fails the write
	if _, err := c.Write(frame(req, 0)); err != nil {
		return err
	}
	var head [4]byte
	if _, err := io.ReadFull(c.Conn, head[:]); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, c.Conn, int64(head[2])<<8|int64(head[3]))
	return err
}

// Groups makes n consumer groups of one member each, stable, with a session so long that nobody needs to speak.
func Groups(ctx context.Context, bootstrap string, n int) error {
	byBroker := map[string]*conn{}
	defer func() {
		for _, c := range byBroker {
			_ = c.Close()
		}
	}()
	for i := range n {
		group := fmt.Sprintf("bench-%d", i)
		addr, err := coordinator(ctx, bootstrap, group)
		if err != nil {
			return err
		}
		if byBroker[addr] == nil {
			if byBroker[addr], err = dial(ctx, addr); err != nil {
				return err
			}
		}
		if err := byBroker[addr].join(group); err != nil {
			return fmt.Errorf("group %s: %w", group, err)
		}
	}
	return nil
}

// coordinator finds a group's coordinator; it waits while __consumer_offsets is being made.
func coordinator(ctx context.Context, bootstrap, group string) (string, error) {
	c, err := dial(ctx, bootstrap)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey = group
	for deadline := time.Now().Add(callTimeout); ; {
		resp, err := c.call(req, 1)
		if err != nil {
			return "", err
		}
		r := resp.(*kmsg.FindCoordinatorResponse)
		err = kerr.ErrorForCode(r.ErrorCode)
		if err == nil {
			return fmt.Sprintf("%s:%d", r.Host, r.Port), nil
		}
		if time.Now().After(deadline) {
			return "", err
		}
		time.Sleep(pollEvery)
	}
}

// join makes a group of one member.
func (c *conn) join(group string) error {
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.ProtocolType = group, "consumer"
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 1_800_000, 60_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	join.Protocols = append(join.Protocols, p)
	for deadline := time.Now().Add(callTimeout); ; {
		resp, err := c.call(join, 3)
		if err != nil {
			return err
		}
		r := resp.(*kmsg.JoinGroupResponse)
		if err = kerr.ErrorForCode(r.ErrorCode); err == nil {
			return c.sync(group, r.MemberID, r.Generation)
		}
		if !kerr.IsRetriable(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pollEvery)
	}
}

func (c *conn) sync(group, member string, generation int32) error {
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation = group, member, generation
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = member, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	sync.GroupAssignment = append(sync.GroupAssignment, a)
	resp, err := c.call(sync, 1)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.SyncGroupResponse).ErrorCode)
}

// MetadataLatency asks n times for all topics, one after the other, and returns the times in microseconds.
func MetadataLatency(ctx context.Context, addr string, n int) (*hdrhistogram.Histogram, error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(callTimeout)) // a broken one fails the write
	req := frame(kmsg.NewPtrMetadataRequest(), 7)
	h := hdrhistogram.New(1, int64(callTimeout/time.Microsecond), 3)
	var buf []byte
	for range n {
		start := time.Now()
		if _, err := c.Write(req); err != nil {
			return nil, err
		}
		if buf, err = c.response(buf); err != nil {
			return nil, err
		}
		_ = h.RecordValue(time.Since(start).Microseconds()) // the deadline keeps it in range
	}
	return h, nil
}
