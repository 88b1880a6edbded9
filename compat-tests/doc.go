// Package compat drives real processes as their users do: jackdaw binaries and Apache Kafka 3.9.2 as the oracle, a real
// ZooKeeper, and clients that know nothing of Jackdaw (franz-go, sarama, kcat, raw requests).
//
// The tests carry the build tag "compat" and import no package of Jackdaw but the two helpers below this one:
//
//	cluster   processes, ports, data directories, logs, znodes, faults
//	wire      one connection, one request, at exactly the version a test names; record batches byte by byte
//
// Run them with `make compat`, or one of them with
//
//	. compat-tests/setup.sh && go test -tags compat ./compat-tests -run TestFailover -v
//
// COMPAT_TARGET=apache runs the same tests against Apache Kafka 3.9.2: a right value is one the oracle gives, or one whose
// difference is named beside it. README.md lists the environment.
package compat
