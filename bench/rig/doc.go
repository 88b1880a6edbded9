// Package rig starts what package bench measures: Apache ZooKeeper and Apache Kafka out of their jars, with the options
// of Apache's own start script, and Jackdaw's binary. Both brokers get the same server.properties and the same
// ZooKeeper server. All processes end with the context they were started under; data lies below one directory that the
// caller removes.
package rig
