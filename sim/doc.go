// Package sim runs a whole cluster in one goroutine from one seed: the replication cores over real logs in memory, a
// controller core on each broker, a ZooKeeper tree, clients, and a network that loses, delays, repeats and reorders.
//
// What decides is the code that ships: replication/isr, controller/state, log, zkstore/zktree, zkstore/znode. What is
// rewritten here is only the shells around them, which elsewhere hold locks, sockets and goroutines: partition.go stands
// for replication.Partition, follower.go for its fetchers, controller.go for the controller's event loop, broker.go for
// the handlers. A shell that changes has to change here as well.
//
// Time is virtual and every decision comes from one random source, so a seed always gives the same run; Result.Hash
// proves it. After each step checks.go compares all replicas with an oracle, history.go, that knows what was committed
// and acknowledged. See docs/simulation.md.
package sim
