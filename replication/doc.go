// Package replication keeps the replicas of this broker: it leads and follows partitions, appends and reads through
// leadership rules, moves the high watermark, and asks for changes of the ISR.
//
// ReplicaManager owns all partitions and is what request handlers call. Partition is one of them: the shell around the
// rules in isr.Core, which it calls under its lock and whose effects it carries out after unlocking. A fetcher copies
// from one leader broker over one connection. SessionCache keeps the fetch sessions of clients and followers (KIP-227).
// Nothing here knows ZooKeeper, the controller or connections: it is given an ISRStore and a Dial function.
//
// # Concurrency
//
// Locks are taken in the order ReplicaManager.mu, Partition.tenure, Partition.mu, Partition.moving, Log.mu. Only the
// log's own work is done under a Partition's locks; callbacks, wake-ups and proposals come after they were released, so
// one may overtake another: each carries an epoch or can be repeated. Reads by consumers take no lock of a partition.
// LeaderAndIsr and StopReplica are executed one at a time, in the order they came, and so are the OnLeadership
// callbacks.
//
// # Goroutines
//
// Run has four: the tick that looks for lagging followers, the high watermark checkpoint, and the timers of the two
// purgatories; one for each fetcher; one for each mover, which copies logs to other log directories (docs/adr/0009);
// and one for each append that flush.messages wants on the disk before it is answered (docs/adr/0010).
//
// # Files
//
// replication-offset-checkpoint in each log directory, by way of log.Manager.
package replication
