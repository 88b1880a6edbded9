package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordBatch builds one batch of n records with values of the given size that look like JSON (compressible about 3:1).
// codec is none, lz4 or zstd.
func recordBatch(n, valueBytes int, codec string) ([]byte, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	var records []byte
	for i := range n {
		value := make([]byte, 0, valueBytes+64)
		for len(value) < valueBytes {
			value = fmt.Appendf(value, `{"id":%d,"sku":"A-%04d","qty":%d},`, rng.Int64(), rng.IntN(9999), rng.IntN(9))
		}
		r := kmsg.Record{OffsetDelta: int32(i), Value: value[:valueBytes]}
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		records = r.AppendTo(records)
	}
	attributes, records, err := compress(records, codec)
	if err != nil {
		return nil, err
	}
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: attributes, LastOffsetDelta: int32(n - 1),
		FirstTimestamp: now, MaxTimestamp: now, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		NumRecords: int32(n), Records: records,
	}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], castagnoli))
	return raw, nil
}

func compress(records []byte, codec string) (attributes int16, out []byte, err error) {
	switch codec {
	case "none", "":
		return 0, records, nil
	case "lz4":
		var b bytes.Buffer
		w := lz4.NewWriter(&b)
		if _, err = w.Write(records); err == nil {
			err = w.Close()
		}
		return 3, b.Bytes(), err
	case "zstd":
		w, err := zstd.NewWriter(nil)
		if err != nil {
			return 0, nil, err
		}
		return 4, w.EncodeAll(records, nil), w.Close()
	}
	return 0, nil, fmt.Errorf("unknown codec %q", codec)
}
