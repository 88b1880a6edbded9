// Package shardtest drives a coordinator.Shard in tests as the Runtime does, but without goroutines: the log is in memory and
// commits at once unless it is held, and the clock stands still unless it is moved.
package shardtest
