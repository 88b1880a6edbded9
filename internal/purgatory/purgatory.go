package purgatory

import (
	"context"
	"time"
)

// Op is a waiting operation. Its methods are never called at the same time, and exactly one of Complete and Expire is
// called, once. Kafka: DelayedOperation.
type Op interface {
	// TryComplete reports whether the condition holds. It may take locks, but must not block or call the purgatory.
	TryComplete() bool
	// Complete is called after TryComplete said true; it may call the purgatory.
	Complete()
	// Expire is called at the deadline.
	Expire()
}

// Purgatory keeps operations. Kafka: DelayedOperationPurgatory.
type Purgatory[K comparable] struct{}

// New returns an empty purgatory. name is for metrics and logs.
func New[K comparable](name string) *Purgatory[K] { return &Purgatory[K]{} }

// Run expires operations until ctx ends.
func (p *Purgatory[K]) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Watch completes op at once if its condition holds, and keeps it under keys until deadline otherwise.
func (p *Purgatory[K]) Watch(op Op, deadline time.Time, keys ...K) (completed bool) { return false }

// Check completes the operations under key whose condition holds and returns their number.
func (p *Purgatory[K]) Check(key K) int { return 0 }
