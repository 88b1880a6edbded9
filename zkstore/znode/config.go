package znode

import (
	"fmt"
	"strings"
)

// EncodeConfig gives the data of a configuration node, version 1. Kafka: ConfigEntityZNode.
func EncodeConfig(config map[string]string) []byte {
	out := append([]byte(nil), `{"version":1,"config":{`...)
	for i, k := range propertiesOrder(config) {
		out = appendComma(out, i)
		out = appendString(out, k)
		out = append(out, ':')
		out = appendString(out, config[k])
	}
	return append(out, `}}`...)
}

// DecodeConfig reads a configuration node. Null or empty data is an empty configuration, as Kafka takes it.
func DecodeConfig(data []byte) (map[string]string, error) {
	out := map[string]string{}
	if len(data) == 0 {
		return out, nil
	}
	var j struct {
		Config map[string]text `json:"config"`
	}
	if err := decode("configuration", data, &j); err != nil {
		return nil, err
	}
	for k, v := range j.Config {
		out[k] = string(v)
	}
	return out, nil
}

// ConfigChange is a notification below /config/changes: whose configuration must be read again.
// Kafka: ConfigEntityChangeNotificationZNode.
type ConfigChange struct {
	// EntityType is topics, brokers, clients, users or ips.
	EntityType string
	// EntityName is the rest of the path below the type, for example "a" or "alice/clients/app", still percent-encoded.
	EntityName string
}

// Encode gives version 2 of the node.
func (c ConfigChange) Encode() []byte {
	out := append([]byte(nil), `{"version":2,"entity_path":`...)
	return append(appendString(out, c.EntityType+"/"+c.EntityName), '}')
}

// DecodeConfigChange reads versions 1 and 2.
func DecodeConfigChange(data []byte) (ConfigChange, error) {
	var j struct {
		Type text `json:"entity_type"`
		Name text `json:"entity_name"`
		Path text `json:"entity_path"`
	}
	const node = "configuration change"
	if err := decode(node, data, &j); err != nil {
		return ConfigChange{}, err
	}
	if j.Type != "" && j.Name != "" {
		return ConfigChange{EntityType: string(j.Type), EntityName: string(j.Name)}, nil
	}
	typ, name, ok := strings.Cut(string(j.Path), "/")
	if !ok || typ == "" || name == "" {
		return ConfigChange{}, &DecodeError{Node: node, Data: data, Err: fmt.Errorf("entity path %q", j.Path)}
	}
	return ConfigChange{EntityType: typ, EntityName: name}, nil
}
