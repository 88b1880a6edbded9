//go:build compat

package compat

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"jackdaw/compat-tests/clients"
	"jackdaw/compat-tests/cluster"
)

// TestMain ends what the tests share, also on Ctrl-C.
func TestMain(m *testing.M) {
	if clients.Main() { // a client in Go, as a process of its own
		return
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-interrupted
		closeShared()
		os.Exit(130)
	}()
	fmt.Printf("compat: target %s, CI=%v\n", cluster.Target(), cluster.CI())
	code := m.Run()
	closeShared()
	os.Exit(code)
}

func closeShared() {
	for _, f := range []*fixture{&single, &triple} {
		if err := f.close(); err != nil {
			fmt.Fprintln(os.Stderr, "compat:", err)
		}
	}
	if err := cluster.CloseShared(); err != nil {
		fmt.Fprintln(os.Stderr, "compat:", err)
	}
}
