// Package index holds the three index files of a segment: offsets, timestamps and aborted transactions.
//
// The offset and time index are files of fixed-size entries. While a segment is active they are preallocated, sparse, at
// their largest size, and cut to their entries when the segment is sealed or closed, as Kafka leaves them. The last few
// entries are kept in memory and written in one piece; after a crash an index that was not sealed is rebuilt anyway.
// So an index costs no descriptor until it is looked up or has a block of entries to write, and no memory but its tail.
//
// Lookups are binary searches, safe beside one appender. The caller of a lookup brings a scratch buffer, which saves
// most of the reads; it is used only during the call.
package index
