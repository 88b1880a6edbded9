package cluster

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// pollEvery is how often a condition is looked at.
const pollEvery = 25 * time.Millisecond

// stopError ends Until at once.
type stopError struct{ err error }

func (s stopError) Error() string { return s.err.Error() }
func (s stopError) Unwrap() error { return s.err }

// Stop marks an error as final: Until returns it without further attempts.
func Stop(err error) error { return stopError{err} }

// Until calls check again and again until it returns nil, a Stop error, or limit has passed; then the last error is returned.
func Until(limit time.Duration, check func() error) error {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if stop := (stopError{}); errors.As(err, &stop) {
			return stop.err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", limit, err)
		}
		<-tick.C
	}
}

// Eventually is Until for a test: the test ends when the condition does not come true.
func Eventually(t testing.TB, limit time.Duration, what string, check func() error) {
	t.Helper()
	if err := Until(limit, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
