package record

import "encoding/binary"

// MarkerType is the outcome of a transaction, in a control record. Kafka: ControlRecordType.
type MarkerType int16

// The two outcomes.
const (
	Abort  MarkerType = 0
	Commit MarkerType = 1
)

const (
	markerKeySize   = 4 // version, type
	markerValueSize = 6 // version, coordinator epoch
)

// EndTxnMarker builds the control batch that ends a transaction: one record, one offset, no sequence. timestamp is in ms.
// Kafka: MemoryRecords.withEndTransactionMarker.
func EndTxnMarker(t MarkerType, producerID int64, producerEpoch int16, coordinatorEpoch int32, timestamp int64) []byte {
	key := binary.BigEndian.AppendUint16(make([]byte, 2, markerKeySize), uint16(t))
	value := binary.BigEndian.AppendUint32(make([]byte, 2, markerValueSize), uint32(coordinatorEpoch))
	b := NewBuilder(None, BuilderOptions{
		Producer:      &Producer{ID: producerID, Epoch: producerEpoch, BaseSequence: NoSequence},
		Transactional: true,
		Control:       true,
	})
	b.Append(timestamp, key, value, nil)
	return b.Build()
}

// ParseMarker reads the control record of a batch. ok is false when the batch ends no transaction, or is not to be
// understood. Kafka: EndTransactionMarker.
func ParseMarker(b Batch) (t MarkerType, coordinatorEpoch int32, ok bool) {
	if !b.IsControl() || b.Codec() != None || b.Count() < 1 {
		return 0, 0, false
	}
	for r, err := range b.Records(nil) {
		if err != nil || len(r.Key) < markerKeySize || len(r.Value) < markerValueSize {
			return 0, 0, false
		}
		t = MarkerType(binary.BigEndian.Uint16(r.Key[2:]))
		return t, int32(binary.BigEndian.Uint32(r.Value[2:])), t == Abort || t == Commit
	}
	return 0, 0, false
}
