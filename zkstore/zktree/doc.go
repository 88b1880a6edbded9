// Package zktree is a ZooKeeper data tree in memory: nodes with ZooKeeper's versions and zxids, ephemeral and sequential
// nodes, sessions, watches and multi, with ZooKeeper's error codes.
//
// The package is pure. All changes go through Tree.Apply, which is a function of the tree and the transaction alone: the
// same transactions give the same tree, so a journal of them is enough to build it again. Time comes in as an argument,
// and watch events go out as values. A Tree is not safe for concurrent use; its caller holds a lock.
//
// Data given to Apply and returned by reads is shared with the tree and must not be changed by anybody.
package zktree
