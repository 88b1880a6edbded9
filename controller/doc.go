// Package controller is the shell around controller/state: the event loop of the cluster's one active controller, its
// election through ZooKeeper, the watches that feed it, and a sender for each live broker.
//
// Every broker runs a Controller; at most one of them is active. All state belongs to the event loop: API calls and watches
// only put events into its queue. Each write to ZooKeeper is conditional on the controller epoch, so that a controller which
// was replaced without knowing it changes nothing and resigns.
//
// Goroutines: the event loop, and one sender for each live broker. There is no lock order to keep: senders share nothing with
// the loop but their queues.
package controller
