// Package clients runs real Kafka clients as processes of their own, so that one table of tests drives them all, whatever
// language they are written in, and may kill them.
//
// A driver is a small program around one client library: Client.java, *.py, kafkajs.js and, for the clients in Go, Main in the
// test binary itself. It reads commands from its standard input, one a line, and answers each with one line, "ok" and perhaps
// words, or "error" and a text:
//
//	join GROUP TOPIC session=MS strategy=range|cooperative [instance=ID] [committed=true]
//	commit | commit-async                   what was consumed so far; waits for the answer
//	committed PARTITION                     the group's offset, -1 when it has none
//	seek PARTITION beginning|end|OFFSET|@TIMESTAMP    answers the new position
//	leave                                   closes the consumer
//	producer [codec=NAME] [idempotent=true] [txn=ID]
//	produce TOPIC PARTITION PREFIX N        values PREFIX-0 and so on; waits for all answers
//	begin | send-offsets | commit-txn | abort-txn
//	create TOPIC PARTITIONS REPLICAS | grow TOPIC PARTITIONS | delete TOPIC
//	partitions TOPIC | set TOPIC KEY VALUE | get TOPIC KEY
//	group GROUP                             how many members it has, and how often it is in the list of groups
//
// Between the answers it tells what its consumer sees: "+ P..." and "- P..." for partitions assigned and revoked, and
// "r PARTITION OFFSET VALUE" for each record. Consumers start at the beginning and never commit on their own.
package clients
