package protocol

// table is what the broker serves, ordered by key. It is never written to.
var table []API
