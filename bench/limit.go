package bench

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	limitFile   = 256 << 20 // bytes of the file that LimitFetch sends
	limitWindow = 16 << 20  // LimitProduce writes over the same part of its file, so that it stays small
	limitBlock  = 64 << 10
)

// LimitProduce is what no broker on this machine can beat: loops that receive 64 KiB over loopback, sum them up and
// write them to a file. Both ends are in this process.
func LimitProduce(ctx context.Context, conns int, d time.Duration) (Result, error) {
	return limit(ctx, conns, d, func(server, client net.Conn, f *os.File, stop time.Time) (int64, error) {
		return both(func() error { return errors.Join(sendBlocks(client, stop), client.Close()) },
			func() (int64, error) { return receiveBlocks(server, f) })
	})
}

// LimitFetch is the same for fetches: a cached file is sent by sendfile, and dropped at the other end.
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

func sendBlocks(c net.Conn, stop time.Time) error {
	block := make([]byte, limitBlock)
	for time.Now().Before(stop) {
		if _, err := c.Write(block); err != nil {
			return err
		}
	}
	return nil
}

func receiveBlocks(c net.Conn, f *os.File) (n int64, err error) {
	block := make([]byte, limitBlock)
	for {
		switch _, err := io.ReadFull(c, block); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return n, nil
		case err != nil:
			return n, err
		}
		_ = crc32.Checksum(block, castagnoli)
		if _, err := f.WriteAt(block, n%limitWindow); err != nil {
			return n, err
		}
		n += limitBlock
	}
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
