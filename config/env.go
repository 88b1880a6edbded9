package config

import (
	"slices"
	"strings"
)

// notSettings are variables with the prefix that container images and start scripts of Kafka use for other things.
var notSettings = []string{
	"KAFKA_VERSION", "KAFKA_HOME", "KAFKA_HEAP_OPTS", "KAFKA_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_JMX_OPTS", "KAFKA_JMX_PORT",
	"KAFKA_JMX_HOSTNAME", "KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_GC_LOG_OPTS", "KAFKA_LOG4J_ROOT_LOGLEVEL",
	"KAFKA_LOG4J_LOGGERS", "KAFKA_TOOLS_LOG4J_LOGLEVEL", "KAFKA_DEBUG", "KAFKA_CLASSPATH",
}

// fromEnvironment returns the settings in an environment: KAFKA_LOG_DIRS is log.dirs; __ is _ and ___ is -.
func fromEnvironment(environ []string) map[string]string {
	out := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		rest, ok := strings.CutPrefix(name, "KAFKA_")
		if !ok || rest == "" || slices.Contains(notSettings, name) {
			continue
		}
		key := strings.NewReplacer("___", "-", "__", "_", "_", ".").Replace(strings.ToLower(rest))
		out[properCase(key)] = value
	}
	return out
}

// properCase gives the spelling of the table to a key whose capitals the environment has lost.
func properCase(key string) string {
	if _, ok := byName[key]; ok {
		return key
	}
	for name := range byName {
		if strings.EqualFold(name, key) {
			return name
		}
	}
	return key
}
