// Package tidy holds the rules of this repository that a compiler does not check, as tests: which package may import
// which, which packages are pure, where goroutines start, that each API has its file. The tables in its tests are the
// authority; a new arrow or a new goroutine is a line there and a decision in docs/adr.
package tidy
