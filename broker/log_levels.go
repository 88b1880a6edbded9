package broker

import (
	"slices"
	"strings"

	"jackdaw/config"
)

// LogLevels are the levels of loggers, which AlterConfigs can change until the broker stops. Kafka: Log4jController.
type LogLevels interface {
	// Levels returns the level of each logger, root among them, in Kafka's names: FATAL ERROR WARN INFO DEBUG TRACE.
	Levels() map[string]string
	// SetLevel changes a logger; "" gives it the level of root again.
	SetLevel(logger, level string)
}

// fixedLevel is one level that cannot be changed.
type fixedLevel string

func (f fixedLevel) Levels() map[string]string {
	return map[string]string{rootLogger: strings.ToUpper(string(f))}
}

func (f fixedLevel) SetLevel(string, string) {}

// rootLogger has the level of all loggers that have none of their own. Kafka: Log4jController.ROOT_LOGGER.
const rootLogger = "root"

var logLevels = []string{"DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN"}

// alterLoggers changes levels of loggers. Kafka: ConfigAdminManager.validateLogLevelConfigs, alterLogLevelConfigs.
func (b *Broker) alterLoggers(a *alteration, validateOnly bool) error {
	if err := b.checkNodeID(a.name); err != nil {
		return err
	}
	levels := b.levels.Levels()
	for _, c := range a.changes {
		if err := checkLogger(levels, c); err != nil {
			return err
		}
	}
	if validateOnly {
		return nil
	}
	for _, c := range a.changes {
		b.log.Info("changing log level", "name", c.Name, "level", c.Value)
		b.levels.SetLevel(c.Name, c.Value)
	}
	return nil
}

func checkLogger(levels map[string]string, c config.Change) error {
	_, ok := levels[c.Name]
	switch {
	case c.Op == config.Append || c.Op == config.Subtract:
		verb := "APPEND"
		if c.Op == config.Subtract {
			verb = "SUBTRACT"
		}
		return invalidRequest("%s operation is not allowed for the BROKER_LOGGER resource", verb)
	case !ok:
		return invalidConfig("Logger %s does not exist!", c.Name)
	case c.Op == config.Delete && c.Name == rootLogger:
		return invalidRequest("Removing the log level of the %s logger is not allowed", rootLogger)
	case c.Op == config.Set && !slices.Contains(logLevels, c.Value):
		return invalidConfig("Cannot set the log level of %s to %s as it is not a supported log level. Valid log levels are %s",
			c.Name, c.Value, strings.Join(logLevels, ", "))
	}
	return nil
}

// describeLoggers shows the level of each logger.
func (b *Broker) describeLoggers(only []string) []config.Entry {
	var out []config.Entry
	levels := b.levels.Levels()
	for name, level := range levels {
		if len(only) == 0 || slices.Contains(only, name) {
			out = append(out, config.Entry{Name: name, Value: &level, Source: loggerSource})
		}
	}
	slices.SortFunc(out, func(x, y config.Entry) int { return strings.Compare(x.Name, y.Name) })
	return out
}

// loggerSource is DYNAMIC_BROKER_LOGGER_CONFIG.
const loggerSource = 6
