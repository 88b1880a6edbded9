// Package zkserver is a ZooKeeper server for one machine: ZooKeeper's client protocol over a zktree.Tree, with a journal
// and snapshots on disk. It is what zookeeper.connect=embedded starts, and `jackdaw zookeeper`. It is no ensemble.
//
// # Life
//
// Open locks the directory, reads the newest snapshot and the journal after it, and binds the address; Run serves until
// its context ends; Close ends everything and may be called at any time. Sessions survive: a client that comes back in
// time finds its session and its ephemeral nodes.
//
// # Order and durability
//
// One mutex orders all requests. A change is applied to the tree and added to the group of changes that waits for the
// disk; every answer and every watch event carries the zxid of the tree that it shows, and leaves only when that zxid is
// on disk. So whatever a client has seen is there after a crash, and many changes share one fsync.
//
// # Goroutines
//
// A reader and a writer for each connection, one that accepts, one that commits, one that expires sessions, and now and
// then one that writes a snapshot. Locks: Server.mu, then conn.mu. No IO under either.
//
// # Files
//
//	lock                   held while the server runs
//	snapshot.ZXID          "JDZKSNP1", crc32c and length of the payload, payload (zktree.Tree.AppendSnapshot)
//	journal.ZXID           "JDZKJRN1", then groups: length, crc32c of it, crc32c of the transactions, transactions
//	                       (zktree.AppendTxn). ZXID is that of the first.
//
// ZXID is 16 hexadecimal digits; numbers are big-endian, lengths and crcs have 4 bytes.
package zkserver
