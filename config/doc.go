// Package config reads the configuration of a broker.
//
// Load merges server.properties, the KAFKA_* environment and --override, checks every value against one table of keys
// (keys.go, topic_keys.go) and returns it in three shapes: Broker and Topic, which are typed and meant for the code;
// Entry, which is what DescribeConfigs answers; and a report of every setting that has no effect here, and why.
//
// A setting is looked for, from strongest to weakest, in: the topic's own config, the dynamic config of this broker,
// the dynamic config of all brokers, --override, the environment, the file, the default of the table.
//
// Every error is one line that names the key. Nothing here keeps state or starts goroutines; only Load touches files.
package config
