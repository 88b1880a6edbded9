// Package run starts and stops goroutines.
//
// A Group gives each goroutine a name, stops all of them when one fails, and waits for all. Components take the group
// of whoever owns their life; main owns the outermost. Every `go` statement outside of this package stands in the list
// of internal/tidy with its reason.
package run
