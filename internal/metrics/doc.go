// Package metrics names and registers what Jackdaw measures.
//
// Names are those that the usual rules of Prometheus' jmx_exporter make of Kafka's MBeans, so that dashboards and
// alerts written for Apache Kafka fill. Each component keeps its instruments in a private struct built from an injected
// prometheus.Registerer; nil means that nothing is registered, and the instruments work all the same.
package metrics
