package znode

import (
	"bytes"
	"fmt"
	"strconv"

	"jackdaw/metadata"
)

// Controller is /controller. Kafka: ControllerZNode.
type Controller struct {
	Broker metadata.BrokerID
	// TimestampMs is when it was elected, Unix milliseconds.
	TimestampMs int64
	// KRaftEpoch is -1 unless a KRaft controller has taken over for a migration.
	KRaftEpoch int32
}

// Encode gives version 2 of the node.
func (c Controller) Encode() []byte {
	return fmt.Appendf(nil, `{"version":2,"brokerid":%d,"timestamp":"%d","kraftControllerEpoch":%d}`,
		c.Broker, c.TimestampMs, c.KRaftEpoch)
}

// DecodeController reads versions 1 and 2, and the bare broker id of Kafka 0.8.
func DecodeController(data []byte) (Controller, error) {
	if id, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 32); err == nil {
		return Controller{Broker: metadata.BrokerID(id), TimestampMs: -1, KRaftEpoch: -1}, nil
	}
	var j struct {
		Broker    *number `json:"brokerid"`
		Timestamp number  `json:"timestamp"`
		KRaft     *number `json:"kraftControllerEpoch"`
	}
	if err := decode("controller", data, &j); err != nil {
		return Controller{}, err
	}
	if j.Broker == nil {
		return Controller{}, &DecodeError{Node: "controller", Data: data, Err: errMissing("brokerid")}
	}
	c := Controller{Broker: metadata.BrokerID(*j.Broker), TimestampMs: int64(j.Timestamp), KRaftEpoch: -1}
	if j.KRaft != nil {
		c.KRaftEpoch = int32(*j.KRaft)
	}
	return c, nil
}

// EncodeControllerEpoch gives the data of /controller_epoch, plain decimal text.
func EncodeControllerEpoch(epoch int32) []byte { return strconv.AppendInt(nil, int64(epoch), 10) }

// DecodeControllerEpoch reads /controller_epoch.
func DecodeControllerEpoch(data []byte) (int32, error) {
	v, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 32)
	if err != nil {
		return 0, &DecodeError{Node: "controller epoch", Data: data, Err: err}
	}
	return int32(v), nil
}

// errMissing names a key that must be there.
type errMissing string

// Error implements error.
func (e errMissing) Error() string { return "no " + string(e) }
