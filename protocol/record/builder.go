package record

// Producer names the idempotent producer of a batch.
type Producer struct {
	ID           int64
	Epoch        int16
	BaseSequence int32
}

// BuilderOptions are the header fields of a batch that is built. The zero value is a plain batch at offset 0.
type BuilderOptions struct {
	BaseOffset  int64
	LeaderEpoch int32
	// Level of the codec, DefaultLevel for Kafka's default.
	Level int
	// Producer is nil for a batch without producer id.
	Producer      *Producer
	Transactional bool
	Control       bool
	// TimestampType LogAppendTime stamps the batch with the largest timestamp appended.
	TimestampType TimestampType
}

// Builder builds one batch. Reset makes it ready for the next.
type Builder struct {
	codec Codec
	o     BuilderOptions
}

// NewBuilder returns a builder of batches with this codec.
func NewBuilder(codec Codec, o BuilderOptions) *Builder { return &Builder{codec: codec, o: o} }

// Append adds a record. ts is in ms; nil key and value are null. The bytes are copied.
func (b *Builder) Append(ts int64, key, value []byte, headers []Header) {}

// Count is the number of records so far, Size the bytes of the batch so far, uncompressed.
func (b *Builder) Count() int { return 0 }

// Size is the size in bytes of the batch so far, before compression.
func (b *Builder) Size() int { return 0 }

// Build ends the batch. The bytes belong to the caller.
func (b *Builder) Build() []byte { return nil }

// Reset makes the builder ready for another batch.
func (b *Builder) Reset(o BuilderOptions) {}

// MarkerType is the outcome of a transaction in a control record. Kafka: ControlRecordType.
type MarkerType int16

// The two outcomes.
const (
	Abort  MarkerType = 0
	Commit MarkerType = 1
)

// EndTxnMarker builds the control batch that ends a transaction. Kafka: MemoryRecords.withEndTransactionMarker.
func EndTxnMarker(t MarkerType, producerID int64, producerEpoch int16, coordinatorEpoch int32, timestamp int64) []byte {
	return nil
}

// ParseMarker reads the control record of a batch. ok is false when the batch is none of the two. Kafka: EndTransactionMarker.
func ParseMarker(b Batch) (t MarkerType, coordinatorEpoch int32, ok bool) { return 0, 0, false }
