// Package coordinator runs the state machines that keep their state in an internal topic: consumer groups in
// __consumer_offsets and transactions in __transaction_state.
//
// A Shard is the state of one partition of such a topic, a pure core. The Runtime gives each partition that this broker
// leads a goroutine, the shard's loop, which alone touches the shard:
//
//	operation -> Effects{Writes, Replies} -> append -> Shard.Appended -> HW passes -> Shard.Committed -> more Effects
//
// A write is appended before the shard is told of it, so a refused append leaves nothing to roll back: the shard hears
// Rejected and answers. After the append the records are in the leader's log, and only the loss of leadership can undo
// that, which unloads the shard as a whole. In between the shard keeps what is appended apart from what is committed and
// shows only the latter: nobody reads a state that a fail-over could take back. A write that is not committed in its time
// is answered (Shard.Late) but stays in flight until the log settles it; the shard never guesses.
//
// Loading reads the partition from its start while operations get COORDINATOR_LOAD_IN_PROGRESS; a partition that is not
// led here gets NOT_COORDINATOR. Elections are fenced by leader epoch, and so is every append.
//
// Timers are data of the shard: it tells its next deadline, and the loop calls Tick when it has come.
//
// Goroutines: one per loaded partition, started by Runtime in the run.Group of Run. Locks: Runtime.mu, then loop.mu;
// neither is held while a shard, a log or a caller's function runs.
//
// Kafka: CoordinatorRuntime (of the later coordinator), GroupMetadataManager, TransactionStateManager.
package coordinator
