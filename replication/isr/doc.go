// Package isr holds the rules of one partition: who is in sync, where the high watermark is, when the ISR changes, and
// where a follower truncates.
//
// Core is a state machine without IO, clock or goroutine. The shell, replication.Partition, holds a lock, tells it what
// happened and when, and carries out the Effects after unlocking. No mutator allocates unless it proposes an ISR.
package isr
