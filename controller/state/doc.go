// Package state is the pure core of the controller: what it knows about brokers, topics, partitions and replicas, and what
// must be written and sent when something happens.
//
// Each event is handled in two steps. PlanX(event) says which state znodes must be written, each conditional on the version
// that the state was read at. The shell writes them and hands the results to Apply, which takes over what was written and
// adds to the Batch what the brokers have to be told. The batch is emptied by Requests.
//
// The package has no IO, no goroutine, no clock and no lock: State belongs to the controller's event loop.
package state
