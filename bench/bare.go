package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"sync"
)

// Bare is what no broker on this machine can beat at Produce: a server that takes requests, sums each up, writes it to a
// file and answers it, and does nothing else. It reads and writes as many requests at a time as have come, and looks into
// none, so that its answer is always the same. With Followers, which are Bare servers, too, it sends them what it has
// written with sendfile, and answers when all of them have.
type Bare struct {
	// Dir is where the files lie; they have no names, and are gone with their connections.
	Dir string
	// Followers are addresses.
	Followers []string
	// Buffer is the room for requests of one connection, in bytes; no request may be larger. 0 is 512 KiB.
	Buffer int
}

const (
	bareBuffer = 512 << 10
	// bareAnswer is the size of an answer in bytes: that of a broker's to a Produce of one partition. Zeros are no error.
	bareAnswer = 64
	// bareReserve is how many bytes are reserved on the disk at a time.
	bareReserve = 16 << 20
	// bareRoom is for how many requests there are answers at hand.
	bareRoom = 256
)

// Serve serves until ctx ends.
func (b Bare) Serve(ctx context.Context, ln net.Listener) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	context.AfterFunc(ctx, func() { _ = ln.Close() })
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		wg.Go(func() {
			end := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer end()
			if err := b.serve(ctx, c.(*net.TCPConn)); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "bare:", err)
			}
		})
	}
}

// bareConn is one connection.
type bareConn struct {
	c         *net.TCPConn
	f         *os.File
	size      int64 // of the file
	reserved  int64 // up to where there is room on the disk
	followers []*net.TCPConn
	answers   []byte
}

func (b Bare) serve(ctx context.Context, c *net.TCPConn) (err error) {
	s := bareConn{c: c, answers: bareAnswers()}
	defer func() { err = errors.Join(err, c.Close()) }()
	if s.f, err = os.CreateTemp(b.Dir, "bare-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.f.Close()) }()
	if err := os.Remove(s.f.Name()); err != nil {
		return err
	}
	for _, addr := range b.Followers {
		fc, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer func() { _ = fc.Close() }() // nothing is left to be said
		s.followers = append(s.followers, fc.(*net.TCPConn))
	}
	n := b.Buffer
	if n == 0 {
		n = bareBuffer
	}
	return s.run(make([]byte, n))
}

func bareAnswers() []byte {
	p := make([]byte, bareRoom*bareAnswer)
	for at := 0; at < len(p); at += bareAnswer {
		binary.BigEndian.PutUint32(p[at:], bareAnswer-4)
	}
	return p
}

// run takes requests until the peer ends the connection.
func (s *bareConn) run(buf []byte) error {
	for have := 0; ; {
		n, err := s.c.Read(buf[have:])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		have += n
		size, requests := wholeRequests(buf[:have])
		if requests == 0 {
			continue
		}
		if err := s.take(buf[:size], requests); err != nil {
			return err
		}
		have = copy(buf, buf[size:have])
	}
}

// wholeRequests sums up the requests that have come as a whole, and tells how many bytes they are.
func wholeRequests(p []byte) (size, requests int) {
	for requests < bareRoom && len(p)-size >= 4 {
		n := 4 + int(binary.BigEndian.Uint32(p[size:]))
		if n > len(p)-size {
			break
		}
		_ = crc32.Checksum(p[size:size+n], castagnoli)
		size += n
		requests++
	}
	return size, requests
}

// take writes requests, has the followers write them, and answers.
func (s *bareConn) take(p []byte, requests int) error {
	if end := s.size + int64(len(p)); end > s.reserved {
		s.reserved = end + bareReserve
		reserve(s.f, s.size, s.reserved-s.size)
	}
	if _, err := s.f.WriteAt(p, s.size); err != nil {
		return err
	}
	for _, fc := range s.followers {
		if err := sendRange(fc, s.f, s.size, len(p)); err != nil {
			return err
		}
	}
	s.size += int64(len(p))
	answers := s.answers[:requests*bareAnswer]
	for _, fc := range s.followers {
		if _, err := io.ReadFull(fc, answers); err != nil {
			return err
		}
	}
	_, err := s.c.Write(answers)
	return err
}
