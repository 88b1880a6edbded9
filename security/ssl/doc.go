// Package ssl makes TLS configurations of Kafka's ssl.* settings: Load reads the stores and checks everything, and the
// Context it returns never changes. A Source holds the Context of a listener and has it replaced while connections are
// accepted. Names of peers are mapped by Mapper.
//
// The words are Kafka's: what the settings call SSL is TLS 1.0 to 1.3.
package ssl
