// Command jackdaw-bench measures brokers.
//
//	jackdaw-bench compare                       Jackdaw beside Apache Kafka 3.9.2; `make bench`
//	jackdaw-bench produce --bootstrap ADDR ...  one load against a running broker, one line of JSON
//	jackdaw-bench latency | fetch ...           the same
//	jackdaw-bench limit                         what bare loops reach on this machine
package main
