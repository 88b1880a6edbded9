package broker

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/protocol"
	"jackdaw/protocol/record"
	"jackdaw/replication"
)

// First versions of Fetch that can carry what older ones cannot.
const (
	fetchFormat1 = 2
	fetchFormat2 = 4
	fetchZstd    = 10
)

// convertBytes bounds the bytes of the log that are converted for one answer, since they are held in memory; the first
// batch of all is converted whatever its size. A fetcher asks again for the rest.
const convertBytes = 8 << 20

// oldPartition serves fetchers that cannot read all that a log may hold: zstd below v10, format 2 below v4.
// Kafka: KafkaApis.handleFetchRequest, maybeConvertFetchedData.
func (c *fetchCall) oldPartition(out protocol.FetchPartition, res *replication.FetchResult) protocol.FetchPartition {
	records, err := res.Records.Before(isZstd)
	switch {
	case err == nil && records.Size() == 0 && res.Records.Size() > 0:
		err = fmt.Errorf("zstd needs Fetch v10: %w", kerr.UnsupportedCompressionType)
	case err == nil && c.version < fetchFormat2:
		out.Bytes, err = c.convert(records, res)
	case err == nil:
		out.Records = records.Range()
	}
	if err != nil {
		return protocol.NoFetchPartition(out.Partition, protocol.ErrorCode(err))
	}
	return out
}

func isZstd(h record.Batch) bool { return h.Magic() == 2 && h.Codec() == record.Zstd }

// convert returns records in the newest format that the fetcher knows. Kafka: LazyDownConversionRecords.
func (c *fetchCall) convert(records log.Records, res *replication.FetchResult) ([]byte, error) {
	if l, ok := c.b.logs.Get(res.TP); ok && !l.Config().Downconversion {
		return nil, fmt.Errorf("message.downconversion.enable=false: %w", kerr.UnsupportedVersion)
	}
	magic := int8(0)
	if c.version >= fetchFormat1 {
		magic = 1
	}
	if res.TooSmall {
		return cutMessage(magic), nil
	}
	data, err := c.readWhole(records)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	out, err := record.DownConvert(nil, data, magic, res.Offset, nil)
	if err != nil {
		return nil, err
	}
	next, count := summary(data)
	c.b.replicas.FetchConverted(res.TP, count)
	if len(out) == 0 && next < res.HighWatermark {
		// Nothing but control records, and what follows did not fit: the fetcher gets on only with a larger limit.
		return cutMessage(magic), nil
	}
	return out, nil
}

// readWhole reads whole batches, as many as this answer may still convert.
func (c *fetchCall) readWhole(records log.Records) ([]byte, error) {
	head := records.Head(max(convertBytes-c.converted, 0))
	data, err := head.ReadAll(nil)
	if err != nil {
		return nil, err
	}
	whole := wholeBatches(data)
	if len(whole) == 0 && c.converted == 0 && len(data) > record.LogOverhead {
		need := record.LogOverhead + int(record.Batch(data).Length())
		if whole, err = records.Head(need).ReadAll(nil); err != nil {
			return nil, err
		}
	}
	c.converted += len(whole)
	return whole, nil
}

// wholeBatches cuts off an incomplete batch at the end.
func wholeBatches(data []byte) []byte {
	rest := data
	for len(rest) > 0 {
		_, after, err := record.Next(rest)
		if errors.Is(err, record.ErrShort) {
			break
		}
		if err != nil {
			return data // what is wrong with it is told by who looks into it
		}
		rest = after
	}
	return data[:len(data)-len(rest)]
}

// summary returns the offset after the last of some whole batches, and the number of records in them.
func summary(data []byte) (next, count int64) {
	for len(data) > 0 {
		b, rest, err := record.Next(data)
		if err != nil {
			break
		}
		if b.Magic() < 2 {
			next, count = b.BaseOffset()+1, count+1
		} else {
			next, count = b.NextOffset(), count+int64(b.Count())
		}
		data = rest
	}
	return next, count
}

// cutMessage is the beginning of a message whose rest did not fit. A fetcher that gets nothing else raises its limit, or
// tells its user that it is too low. Kafka: LazyDownConversionRecordsSend.buildOverflowBatch.
func cutMessage(magic int8) []byte {
	const length = 61 // far more than follows
	p := binary.BigEndian.AppendUint64(nil, ^uint64(0))
	p = binary.BigEndian.AppendUint32(p, length)
	return append(p, 0, 0, 0, 0, byte(magic))
}
