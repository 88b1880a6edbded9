// Package epoch keeps the history of a partition's leader epochs: at which offset each began. It is what a follower
// truncates by (KIP-101, KIP-279, KIP-595), and what clients detect lost data by (KIP-320).
//
// The history is the file leader-epoch-checkpoint of the partition's directory, written and synced at every change, before
// the records of a new epoch. A Cache is safe for concurrent use.
package epoch
