package znode

import (
	"fmt"

	"jackdaw/metadata"
)

// ProducerIDBlock is /latest_producer_id_block: the last block of producer ids that was given out.
// Kafka: ProducerIdBlockZNode.
type ProducerIDBlock struct {
	// Broker is the one that asked for the block.
	Broker metadata.BrokerID
	// Start and End are the first and the last id of the block, both inclusive.
	Start, End int64
}

// Encode gives version 1 of the node.
func (b ProducerIDBlock) Encode() []byte {
	return fmt.Appendf(nil, `{"version":1,"broker":%d,"block_start":"%d","block_end":"%d"}`, b.Broker, b.Start, b.End)
}

// DecodeProducerIDBlock reads the node. Null data, as the node is before the first block, is no block: ok is false.
func DecodeProducerIDBlock(data []byte) (b ProducerIDBlock, ok bool, err error) {
	if len(data) == 0 {
		return ProducerIDBlock{}, false, nil
	}
	var j struct {
		Broker number  `json:"broker"`
		Start  *number `json:"block_start"`
		End    *number `json:"block_end"`
	}
	if err := decode("producer id block", data, &j); err != nil {
		return ProducerIDBlock{}, false, err
	}
	if j.Start == nil || j.End == nil {
		return ProducerIDBlock{}, false, &DecodeError{Node: "producer id block", Data: data, Err: errMissing("block_start or block_end")}
	}
	return ProducerIDBlock{Broker: metadata.BrokerID(j.Broker), Start: int64(*j.Start), End: int64(*j.End)}, true, nil
}
