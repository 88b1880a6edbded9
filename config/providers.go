package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// provider finds a value outside of the settings. path may be empty. Kafka: ConfigProvider, KIP-297.
type provider func(path, key string) (string, error)

// builtin are Kafka's own providers by the class that config.providers.<name>.class names.
var builtin = map[string]provider{
	"org.apache.kafka.common.config.provider.FileConfigProvider":      fromFile,
	"org.apache.kafka.common.config.provider.DirectoryConfigProvider": fromDirectory,
	"org.apache.kafka.common.config.provider.EnvVarConfigProvider":    fromEnv,
}

// variable is ${provider:path:key} or ${provider:key}.
var variable = regexp.MustCompile(`\$\{([^}:]*):(?:([^}:]*):)?([^}:]*)\}`)

// expand replaces variables in place, when config.providers names any.
func expand(raw map[string]string) error {
	providers := map[string]provider{}
	for _, name := range splitList(raw["config.providers"]) {
		key := "config.providers." + name + ".class"
		p, ok := builtin[strings.TrimSpace(raw[key])]
		if !ok {
			return refuse(key, "Invalid value %s for configuration %s: not one of Kafka's own config providers", raw[key], key)
		}
		providers[name] = p
	}
	if len(providers) == 0 {
		return nil
	}
	for key, text := range raw {
		v, err := expandOne(providers, text)
		if err != nil {
			return refuse(key, "Invalid value %s for configuration %s: %v", text, key, err)
		}
		raw[key] = v
	}
	return nil
}

func expandOne(providers map[string]provider, text string) (string, error) {
	var fault error
	out := variable.ReplaceAllStringFunc(text, func(match string) string {
		m := variable.FindStringSubmatch(match)
		p, ok := providers[m[1]]
		if !ok {
			return match
		}
		v, err := p(m[2], m[3])
		if err != nil && fault == nil {
			fault = err
		}
		return v
	})
	return out, fault
}

func fromFile(path, key string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	values := map[string]any{}
	if err := (codec{}).Decode(text, values); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	v, ok := values[fold(key)].(string)
	if !ok {
		return "", fmt.Errorf("%s: no key %s", path, key)
	}
	return v, nil
}

func fromDirectory(path, key string) (string, error) {
	if key != filepath.Base(key) {
		return "", fmt.Errorf("%q is not the name of a file", key)
	}
	text, err := os.ReadFile(filepath.Join(path, key))
	return string(text), err
}

func fromEnv(_, key string) (string, error) {
	v, ok := os.LookupEnv(key)
	if !ok {
		return "", fmt.Errorf("environment variable %s is not set", key)
	}
	return v, nil
}
