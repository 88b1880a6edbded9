// Package protocol is Kafka's wire protocol as far as it is the same for all APIs: frames, request and response headers,
// the table of APIs and their versions, strict decoding of bodies, the one place where errors become codes, and the
// writer of Fetch responses, which leaves record bytes in their files.
//
// Bodies are kmsg's. kmsg forgives what Apache Kafka does not (bytes left over, null for what may not be null), and makes
// structs as many as a count claims; so every body is walked over by its schema first, which allocates nothing.
package protocol
