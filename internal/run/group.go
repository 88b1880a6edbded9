package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"slices"
	"sync"
)

// ErrStopped is the cause of a Group's context after Stop.
var ErrStopped = errors.New("stopped")

// Group is a set of named goroutines with one fate: the first error, Stop, or the end of the parent context ends all.
// Its methods are safe for concurrent use.
type Group struct {
	ctx    context.Context //nolint:containedctx // the group is the lifetime, as in errgroup
	cancel context.CancelCauseFunc
	lg     *slog.Logger

	mu struct {
		sync.Mutex
		running map[string]int // goroutines by name, for the report of what still runs
		n       int
		idle    chan struct{} // closed while n is 0
		err     error         // first error of a goroutine
	}
}

// New returns an empty group that lives at most as long as ctx. A nil logger is silent.
func New(ctx context.Context, lg *slog.Logger) *Group {
	if lg == nil {
		lg = slog.New(slog.DiscardHandler)
	}
	g := &Group{lg: lg}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	g.mu.running = map[string]int{}
	g.mu.idle = make(chan struct{})
	close(g.mu.idle)
	return g
}

// Context ends when the group does; context.Cause tells why.
func (g *Group) Context() context.Context { return g.ctx }

// Go runs f in a goroutine of its own. f must return soon after its ctx ends; an error from it then, and nil at any
// time, is a normal end. Any other error stops the group and is what Wait returns, prefixed with the name.
// f is not run, and Go does nothing, when the group has ended already.
func (g *Group) Go(name string, f func(ctx context.Context) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return
	}
	if g.mu.n == 0 {
		g.mu.idle = make(chan struct{})
	}
	g.mu.n++
	g.mu.running[name]++
	go g.run(name, f)
}

func (g *Group) run(name string, f func(ctx context.Context) error) {
	defer g.ended(name)
	var err error
	pprof.Do(g.ctx, pprof.Labels("goroutine", name), func(ctx context.Context) { err = f(ctx) })
	if err == nil || g.ctx.Err() != nil {
		return
	}
	g.fail(fmt.Errorf("%s: %w", name, err))
}

func (g *Group) fail(err error) {
	g.mu.Lock()
	if g.mu.err == nil {
		g.mu.err = err
	}
	g.mu.Unlock()
	g.cancel(err)
}

func (g *Group) ended(name string) {
	g.lg.Debug("goroutine ended", "name", name)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.running[name]--; g.mu.running[name] == 0 {
		delete(g.mu.running, name)
	}
	if g.mu.n--; g.mu.n == 0 {
		close(g.mu.idle)
	}
}

// Wait blocks until no goroutine runs and returns the first error. It does not end the group: a goroutine that is
// started later needs another Wait.
func (g *Group) Wait() error {
	for {
		g.mu.Lock()
		idle, n, err := g.mu.idle, g.mu.n, g.mu.err
		g.mu.Unlock()
		if n == 0 {
			return err
		}
		<-idle
	}
}

// Stop ends the group's context and waits for its goroutines. Their error, if any came first, is returned by Wait.
func (g *Group) Stop() {
	g.cancel(ErrStopped)
	_ = g.Wait()
}

// Running lists the names of the goroutines that have not ended, in order, for the log line of a stop that hangs.
func (g *Group) Running() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := make([]string, 0, len(g.mu.running))
	for name := range g.mu.running {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
