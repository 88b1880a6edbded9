package record

// Smallest lengths of messages of the old formats: checksum, magic, attributes, timestamp in format 1, and two lengths.
// Kafka: LegacyRecord.RECORD_OVERHEAD_V0 and V1.
const (
	messageV0Min = 4 + 1 + 1 + 4 + 4
	messageV1Min = messageV0Min + 8
)
