package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Error is a refused setting. Its text is Kafka's, names the key and is one line. It is kerr.InvalidConfig.
type Error struct {
	// Key is the offending key.
	Key   string
	text  string
	plain bool
}

func (e *Error) Error() string { return e.text }

// Unwrap makes every refused setting INVALID_CONFIG on the wire.
func (e *Error) Unwrap() error { return kerr.InvalidConfig }

func refuse(key, format string, args ...any) error {
	return &Error{Key: key, text: oneLine(fmt.Sprintf(format, args...))}
}

// invalid is Kafka's ConfigException with a value.
func invalid(key string, value any, why string) error {
	return refuse(key, "Invalid value %v for configuration %s: %s", value, key, why)
}

// oneLine keeps values with line ends from breaking the rule of one line for an error.
func oneLine(s string) string { return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(s) }

var listSeparator = regexp.MustCompile(`\s*,\s*`)

// Parse reads a value of k's type and checks its range: bool, string, int64, float64 or []string.
// Kafka: ConfigDef.parseType and validators.
func (k *Key) Parse(text string) (any, error) {
	v, err := k.convert(text)
	if err != nil {
		return nil, err
	}
	return v, k.check(v)
}

func (k *Key) convert(text string) (any, error) {
	trimmed := strings.TrimSpace(text)
	switch k.Type {
	case Boolean:
		switch strings.ToLower(trimmed) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, invalid(k.Name, text, "Expected value to be either true or false")
	case Int, Short, Long:
		n, err := strconv.ParseInt(strings.TrimPrefix(trimmed, "+"), 10, k.Type.bits())
		if err != nil || strings.HasPrefix(trimmed, "+-") {
			return nil, invalid(k.Name, text, "Not a number of type "+k.Type.String())
		}
		return n, nil
	case Double:
		return k.double(text, trimmed)
	case List:
		if trimmed == "" {
			return []string{}, nil
		}
		return listSeparator.Split(trimmed, -1), nil
	case String, Class, Password, Unknown:
	}
	return trimmed, nil
}

func (k *Key) double(text, trimmed string) (any, error) {
	number := trimmed
	if n := len(number) - 1; n > 0 && strings.ContainsRune("fFdD", rune(number[n])) && strings.ContainsRune("0123456789.", rune(number[n-1])) {
		number = number[:n] // the suffix of a literal in Java
	}
	f, err := strconv.ParseFloat(number, 64)
	// ParseFloat's 0x1p-2, 1_000 and out-of-range errors are no business of a properties file.
	if errors.Is(err, strconv.ErrRange) {
		err = nil // infinite, as in Java
	}
	if err != nil || strings.ContainsAny(trimmed, "_xX") {
		return nil, invalid(k.Name, text, "Not a number of type DOUBLE")
	}
	return f, nil
}

func (t Type) bits() int {
	switch t {
	case Short:
		return 16
	case Int:
		return 32
	case Unknown, Boolean, String, Long, Double, List, Class, Password:
	}
	return 64
}

func (k *Key) check(v any) error {
	if k.Check.fault == nil {
		return nil
	}
	list, isList := v.([]string)
	if !isList || k.Check.whole {
		if why := k.Check.fault(v); why != "" {
			if k.Check.whole {
				why = k.Name + why
			}
			return invalid(k.Name, javaString(v), why)
		}
		return nil
	}
	for _, e := range list {
		if why := k.Check.fault(e); why != "" {
			return invalid(k.Name, e, why)
		}
	}
	return nil
}

// javaString prints a value as Java would: 2.0, [a, b].
func javaString(v any) string {
	switch x := v.(type) {
	case float64:
		return javaDouble(x)
	case []string:
		return "[" + strings.Join(x, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// javaDouble is Double.toString: always with a fraction, and with an exponent outside of 0.001 to 10 million.
func javaDouble(x float64) string {
	abs := math.Abs(x)
	if x == 0 || abs >= 1e-3 && abs < 1e7 || math.IsInf(x, 0) || math.IsNaN(x) {
		return withFraction(strconv.FormatFloat(x, 'f', -1, 64))
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'E', -1, 64), "E")
	n, _ := strconv.Atoi(exponent)
	return withFraction(mantissa) + "E" + strconv.Itoa(n)
}

func withFraction(s string) string {
	if strings.ContainsAny(s, ".IN") {
		return s
	}
	return s + ".0"
}

// Unlimited is the duration that stands for more milliseconds than a Duration holds, such as Long.MAX.
const Unlimited = time.Duration(math.MaxInt64)

// scaled is n units; beyond the range of a Duration it is Unlimited.
func scaled(n int64, unit time.Duration) time.Duration {
	if n > int64(Unlimited/unit) {
		return Unlimited
	}
	if n < -int64(Unlimited/unit) {
		return -Unlimited
	}
	return time.Duration(n) * unit
}
