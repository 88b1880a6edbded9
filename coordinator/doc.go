// Package coordinator runs the state machines that keep their state in an internal topic: consumer groups in
// __consumer_offsets and transactions in __transaction_state.
//
// A Shard is the state of one partition of such a topic, a pure core. The Runtime gives each partition that this broker
// leads a goroutine, the shard's loop, which alone touches the shard:
//
//	operation -> Effects{Writes, Replies} -> append -> Shard.Replay -> committed -> Shard.Commit -> more Effects
//
// A write is appended before the shard is told of it, so a refused append leaves nothing to roll back: the shard hears
// Reject and answers. After the append the record is in the leader's log and only the loss of leadership can undo it, which
// unloads the shard as a whole. In between the shard keeps what was replayed apart from what is committed, and shows only
// the latter: nobody ever reads a state that a fail-over could take back. A write that is not committed within its time is
// answered (Shard.Late), but stays in flight until the log settles it; the shard never guesses.
//
// Loading reads the partition from its start while operations get COORDINATOR_LOAD_IN_PROGRESS; a partition not led here
// gets NOT_COORDINATOR. Elections are fenced by leader epoch, and so is every append.
//
// Timers are data of the shard: it tells its next deadline, and the loop calls Tick when it has come.
//
// Kafka: CoordinatorRuntime (of the later coordinator), GroupMetadataManager, TransactionStateManager.
package coordinator
