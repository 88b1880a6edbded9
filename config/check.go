package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Check returns what is wrong with a value in Kafka's words, or "". v is a bool, string, int64, float64 or []string.
// A Check of a List is asked about each element, unless it says whole.
type Check struct {
	// Range is the permitted range as docs/config.md shows it.
	Range string
	fault func(v any) string
	whole bool // lists are handed over whole
}

// anything permits every value of the type.
var anything = Check{}

// atLeast bounds a number from below. Kafka: ConfigDef.Range.atLeast.
func atLeast(least float64) Check {
	return Check{
		Range: "at least " + number(least),
		fault: func(v any) string {
			if toFloat(v) < least {
				return "Value must be at least " + number(least)
			}
			return ""
		},
	}
}

// between bounds a number on both sides, ends included. Kafka: ConfigDef.Range.between.
func between(least, most float64) Check {
	low := atLeast(least)
	return Check{
		Range: number(least) + " to " + number(most),
		fault: func(v any) string {
			if s := low.fault(v); s != "" {
				return s
			}
			if toFloat(v) > most {
				return "Value must be no more than " + number(most)
			}
			return ""
		},
	}
}

// oneOf permits some words. Kafka: ConfigDef.ValidString, ValidList.
func oneOf(words ...string) Check {
	list := strings.Join(words, ", ")
	return Check{
		Range: list,
		fault: func(v any) string {
			if s, ok := v.(string); ok && slices.Contains(words, s) {
				return ""
			}
			return "String must be one of: " + list
		},
	}
}

// gzipLevel permits 1 to 9 and the codec's own default. Kafka: GzipCompression.LevelValidator.
var gzipLevel = Check{
	Range: "1 to 9, or -1",
	fault: func(v any) string {
		if n, _ := v.(int64); n == -1 || n >= 1 && n <= 9 {
			return ""
		}
		return "Value must be between 1 and 9 or equal to -1"
	},
}

var nonEmpty = Check{
	Range: "not empty",
	fault: func(v any) string {
		if v == "" {
			return "String must be non-empty"
		}
		return ""
	},
}

// version permits inter.broker.protocol.version's names, short ones such as 2.8 included. Kafka: MetadataVersionValidator.
var version = Check{
	Range: "0.8.0 to 4.0-IV1",
	fault: func(v any) string {
		s, _ := v.(string)
		if _, ok := ParseVersion(s); ok {
			return ""
		}
		return fmt.Sprintf("Version %s is not a valid version", s)
	},
}

var throttledPattern = regexp.MustCompile(`^\*$|^[0-9]+:[0-9]+$`)

// throttledReplicas permits "*" alone, or partition:broker pairs. Kafka: ThrottledReplicaListValidator.
var throttledReplicas = Check{
	Range: "* or partition:broker,...",
	whole: true,
	fault: func(v any) string {
		list, _ := v.([]string)
		for _, s := range list {
			if !throttledPattern.MatchString(s) || s == "*" && len(list) > 1 {
				return " must be the literal '*' or a list of replicas in the following format: " +
					"[partitionId]:[brokerId],[partitionId]:[brokerId],..."
			}
		}
		return ""
	},
}

func toFloat(v any) float64 {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	default:
		return 0
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
