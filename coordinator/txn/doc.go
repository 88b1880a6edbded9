// Package txn is the transaction coordinator as a pure state machine: Shard holds the transactional ids of one partition of
// __transaction_state.
//
// Operations take the time as an argument and return coordinator.Effects: records to append, answers to give, and Markers to
// be written to the partitions of a transaction that ends. Nothing here blocks, locks, logs or reads a clock.
//
// Every change of an id is one record. While it is in flight the id is pending and answers CONCURRENT_TRANSACTIONS; the state
// changes when the record is committed, never before. So a refused write leaves everything as it was, the producer's epoch
// too, and one in doubt keeps the id pending until the log has settled it.
//
// coordinator/service is the shell that handlers call.
//
// Kafka: TransactionCoordinator, TransactionStateManager, TransactionMetadata; KIP-98, KIP-360, KIP-447, KIP-890 part 1.
package txn
