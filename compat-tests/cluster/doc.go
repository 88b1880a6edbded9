// Package cluster starts ZooKeeper and brokers as processes of their own, and does to them what happens in the field: kill,
// stop, freeze, cut the link. It talks to binaries only.
//
// A Cluster owns its processes, their data and their logs below one directory. Close ends them all. Every wait has a
// deadline and names what it waited for; a failing test prints the end of every log.
//
// All brokers of one test binary share one ZooKeeper process unless a test asks for its own: each Cluster lives below a chroot.
// Child processes die with the test binary.
package cluster
