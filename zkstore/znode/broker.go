package znode

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"jackdaw/metadata"
)

// brokerVersion is what Kafka has written since 2.7.
const brokerVersion = 5

// FeatureRange is the range of versions of a feature that a broker supports (KIP-584).
type FeatureRange struct {
	Min, Max int16
}

// BrokerInfo is a registration, /brokers/ids/N. Kafka: BrokerInfo, BrokerIdZNode.
type BrokerInfo struct {
	// Broker has the id of the path and the endpoints. Its Epoch is the czxid of the node and not part of the data.
	metadata.Broker
	// JMXPort is -1 when JMX is off, which for Jackdaw is always.
	JMXPort int32
	// TimestampMs is when the broker registered, Unix milliseconds.
	TimestampMs int64
	// Features is empty on every 3.9 broker; kept so that what others write is read back.
	Features map[string]FeatureRange
}

// Encode gives version 5 of the node. host and port are those of the first PLAINTEXT endpoint, null and -1 without one.
func (b BrokerInfo) Encode() []byte {
	out := append([]byte(nil), `{"features":`...)
	out = appendFeatureRanges(out, b.Features)
	out = append(out, `,"listener_security_protocol_map":{`...)
	for i, e := range b.Endpoints {
		out = appendComma(out, i)
		out = appendString(out, e.Listener)
		out = append(out, ':')
		out = appendString(out, e.Protocol)
	}
	out = append(out, `},"endpoints":[`...)
	for i, e := range b.Endpoints {
		out = appendComma(out, i)
		out = appendString(out, e.Listener+"://"+net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	}
	out = append(out, ']')
	if b.Rack != "" {
		out = append(out, `,"rack":`...)
		out = appendString(out, b.Rack)
	}
	host, port := b.plaintext()
	out = fmt.Appendf(out, `,"jmx_port":%d,"port":%d,"host":`, b.JMXPort, port)
	out = append(out, host...)
	return fmt.Appendf(out, `,"version":%d,"timestamp":"%d"}`, brokerVersion, b.TimestampMs)
}

// plaintext gives the JSON of host and port of the endpoint that clients older than 0.9 use.
func (b BrokerInfo) plaintext() (hostJSON []byte, port int32) {
	for _, e := range b.Endpoints {
		if e.Protocol == "PLAINTEXT" {
			return appendString(nil, e.Host), e.Port
		}
	}
	return []byte("null"), -1
}

// brokerJSON has the keys of all versions of the node.
type brokerJSON struct {
	Version   number            `json:"version"`
	Host      text              `json:"host"`
	Port      number            `json:"port"`
	JMXPort   number            `json:"jmx_port"`
	Timestamp number            `json:"timestamp"`
	Endpoints []string          `json:"endpoints"`
	Rack      text              `json:"rack"`
	Protocols map[string]string `json:"listener_security_protocol_map"`
	Features  map[string]struct {
		Min number `json:"min_version"`
		Max number `json:"max_version"`
	} `json:"features"`
}

// DecodeBroker reads versions 1 to 5 of a registration.
func DecodeBroker(id metadata.BrokerID, data []byte) (BrokerInfo, error) {
	j := brokerJSON{JMXPort: -1}
	if err := decode("broker", data, &j); err != nil {
		return BrokerInfo{}, err
	}
	b := BrokerInfo{
		Broker:      metadata.Broker{ID: id, Epoch: -1, Rack: string(j.Rack)},
		JMXPort:     int32(j.JMXPort),
		TimestampMs: int64(j.Timestamp),
	}
	for name, f := range j.Features {
		if b.Features == nil {
			b.Features = map[string]FeatureRange{}
		}
		b.Features[name] = FeatureRange{Min: int16(f.Min), Max: int16(f.Max)}
	}
	if j.Version < 2 {
		b.Endpoints = []metadata.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: string(j.Host), Port: int32(j.Port)}}
		return b, nil
	}
	for _, s := range j.Endpoints {
		e, err := parseEndpoint(s, j.Protocols)
		if err != nil {
			return BrokerInfo{}, &DecodeError{Node: "broker", Data: data, Err: err}
		}
		b.Endpoints = append(b.Endpoints, e)
	}
	return b, nil
}

// parseEndpoint reads LISTENER://host:port; without a map the listener's name is its protocol.
func parseEndpoint(s string, protocols map[string]string) (metadata.Endpoint, error) {
	listener, addr, ok := strings.Cut(s, "://")
	if !ok {
		return metadata.Endpoint{}, fmt.Errorf("endpoint %q has no ://", s)
	}
	i := strings.LastIndexByte(addr, ':')
	if i < 0 {
		return metadata.Endpoint{}, fmt.Errorf("endpoint %q has no port", s)
	}
	port, err := strconv.ParseInt(addr[i+1:], 10, 32)
	if err != nil {
		return metadata.Endpoint{}, fmt.Errorf("endpoint %q: %w", s, err)
	}
	protocol := listener
	if p, ok := protocols[listener]; ok {
		protocol = p
	}
	if protocol == "" {
		return metadata.Endpoint{}, errors.New("endpoint without a protocol")
	}
	host := strings.TrimSuffix(strings.TrimPrefix(addr[:i], "["), "]")
	return metadata.Endpoint{Listener: listener, Protocol: protocol, Host: host, Port: int32(port)}, nil
}

// appendComma separates the elements of a list or object.
func appendComma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}
