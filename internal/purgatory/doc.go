// Package purgatory holds operations that wait for an event on a key or for their deadline, whichever comes first, and
// completes each exactly once.
//
// An operation is watched under any number of keys. Whoever causes an event calls Check with its key, holding no lock
// that an operation may take; operations whose condition holds now are completed in the caller's goroutine. One
// goroutine, Run, expires what is overdue, whatever the number of operations.
package purgatory
