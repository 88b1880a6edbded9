package bench

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRecordBatch_Codecs_AreValid(t *testing.T) {
	for codec, attributes := range map[string]int16{"none": 0, "lz4": 3, "zstd": 4} {
		raw, err := recordBatch(64, 1024, codec)
		if err != nil {
			t.Fatal(err)
		}
		var b kmsg.RecordBatch
		if err := b.ReadFrom(raw); err != nil {
			t.Fatal(err)
		}
		if b.NumRecords != 64 || b.LastOffsetDelta != 63 || b.Attributes != attributes || int(b.Length) != len(raw)-12 {
			t.Errorf("%s: %+v", codec, b)
		}
		if uint32(b.CRC) != crc32.Checksum(raw[21:], castagnoli) {
			t.Errorf("%s: wrong checksum", codec)
		}
		if codec == "none" == (len(raw) < 64*1024) {
			t.Errorf("%s: %d bytes", codec, len(raw))
		}
	}
	if _, err := recordBatch(1, 1, "snappy"); err == nil {
		t.Error("an unknown codec is taken")
	}
}

func TestFetchFrame_Offset_IsWhereItSays(t *testing.T) {
	p, at := Load{Topic: "topic", MaxBytes: 1 << 20}.fetchFrame(3)
	binary.BigEndian.PutUint64(p[at:], 77)
	// Size, key, version, correlation id, client id.
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(11)
	if err := req.ReadFrom(p[4+2+2+4+2+len("bench"):]); err != nil {
		t.Fatal(err)
	}
	if got := req.Topics[0].Partitions[0]; got.FetchOffset != 77 || got.Partition != 3 {
		t.Errorf("got %+v", got)
	}
}
