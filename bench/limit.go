package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	limitFile = 256 << 20 // bytes of the file that LimitFetch sends
	sendStep  = 1 << 20   // bytes of one call
)

// LimitFetch is what no broker on this machine can beat at Fetch: a cached file is sent by sendfile over loopback, and dropped
// at the other end. Both ends are in this process.
func LimitFetch(ctx context.Context, conns int, d time.Duration) (Result, error) {
	return limit(ctx, conns, d, func(server, client net.Conn, f *os.File, stop time.Time) (int64, error) {
		return both(func() error { return errors.Join(sendFile(server.(*net.TCPConn), f, stop), server.Close()) },
			func() (int64, error) { return drain(client) })
	})
}

// both runs the two ends of a connection.
func both(send func() error, receive func() (int64, error)) (int64, error) {
	var sent error
	var wg sync.WaitGroup
	wg.Go(func() { sent = send() })
	n, err := receive()
	wg.Wait()
	return n, errors.Join(err, sent)
}

type limitLoop func(server, client net.Conn, f *os.File, stop time.Time) (int64, error)

func limit(ctx context.Context, conns int, d time.Duration, loop limitLoop) (Result, error) {
	f, err := os.CreateTemp("", "jackdaw-bench-limit-")
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	if _, err := io.Copy(f, io.LimitReader(zeros{}, limitFile)); err != nil { // also fills the page cache
		return Result{}, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = ln.Close() }()
	addrs := []string{ln.Addr().String()}
	start := time.Now()
	stop := start.Add(d)
	r, err := Load{Conns: conns, For: d}.spread(ctx, addrs, func(_ context.Context, _ int, c *conn) (Result, error) {
		server, err := ln.Accept()
		if err != nil {
			return Result{}, err
		}
		n, err := loop(server, c.Conn, f, stop)
		return Result{Bytes: n}, err
	})
	r.Took = time.Since(start)
	return r, err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func drain(c net.Conn) (n int64, err error) {
	buf := make([]byte, 1<<20)
	for {
		k, err := c.Read(buf)
		n += int64(k)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
