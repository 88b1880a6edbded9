// Package assert checks invariants: conditions that hold unless Jackdaw itself has a bug.
//
// A binary built with the tag invariants, or with -race, panics at the first broken one. Any other binary counts it,
// logs it once for each place in the code, and goes on: a broker that serves a wrong gauge is better than none. Input
// of clients, disks and peers is never asserted; it is an error.
//
// The check is one branch and allocates nothing, so it may stand on hot paths and in pure packages.
package assert
