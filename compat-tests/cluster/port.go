package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Ports are taken below the kernel's ephemeral range (32768 and up), so that no outgoing connection of anybody takes a
// port between the check and the start of the process that listens on it.
const (
	firstPort = 20000
	lastPort  = 32000
)

// Port is a reserved TCP port of 127.0.0.1. No other test binary gets it until Release, even while nothing listens on it, so
// a killed broker comes back on its own port.
type Port struct {
	Number int
	lock   *os.File
}

// Addr is "127.0.0.1:<port>".
func (p *Port) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Release gives the port back.
func (p *Port) Release() {
	if p.lock != nil {
		_ = p.lock.Close() // Closing drops the flock; the file was never written.
		p.lock = nil
	}
}

var portCursor struct {
	sync.Mutex
	next int
}

// ReservePort returns a port nobody listens on and no other test binary holds.
func ReservePort() (*Port, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("jackdaw-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("port locks: %w", err)
	}
	portCursor.Lock()
	defer portCursor.Unlock()
	if portCursor.next == 0 {
		portCursor.next = firstPort + os.Getpid()*37%(lastPort-firstPort)
	}
	for range lastPort - firstPort {
		number := portCursor.next
		portCursor.next++
		if portCursor.next > lastPort {
			portCursor.next = firstPort
		}
		if p := tryPort(dir, number); p != nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no free port in [%d, %d]", firstPort, lastPort)
}

// tryPort locks the number against other test binaries, then checks that nothing listens on it.
func tryPort(dir string, number int) *Port {
	lock, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(number)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil
	}
	p := &Port{Number: number, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		p.Release()
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", p.Addr())
	if err != nil {
		p.Release()
		return nil
	}
	_ = l.Close() // Nothing was accepted; only the answer to "is it free" counts.
	return p
}
