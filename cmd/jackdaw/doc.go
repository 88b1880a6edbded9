// Command jackdaw is the broker and its tools: start, zookeeper, plan, dump-log, health and version.
//
// This package is only the way in: it reads flags, builds the logger and hands over. What ends with an error prints one
// line to standard error and exits with 1, or with 2 when the command line itself is wrong.
package main
