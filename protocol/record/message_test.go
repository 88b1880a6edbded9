package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestMessages_JavaSets_ReadAsWritten(t *testing.T) {
	ws := new(Workspace)
	for magic := range 2 {
		for c := None; c <= LZ4; c++ {
			t.Run(fmt.Sprintf("v%d-%s", magic, c), func(t *testing.T) {
				i := 0
				for r, err := range Messages(golden(t, fmt.Sprintf("java-v%d-%s.bin", magic, c)), ws) {
					if err != nil {
						t.Fatal(err)
					}
					if r.Offset != 100+int64(i) {
						t.Fatalf("offset %d, want %d", r.Offset, 100+i)
					}
					goldenRecordAt(i, magic).check(t, i, r.Timestamp, r.Key, r.Value, nil)
					i++
				}
				if i != 50 {
					t.Errorf("%d messages", i)
				}
			})
		}
	}
}

func TestMessages_LogAppendTime_WrappersTime(t *testing.T) {
	n := 0
	for r, err := range Messages(golden(t, "java-v1-gzip-append.bin"), nil) {
		if err != nil || r.Timestamp != goldenTime {
			t.Errorf("timestamp %d, %v", r.Timestamp, err)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d messages", n)
	}
}

func TestUpConvert_JavaSets_ValidBatch(t *testing.T) {
	ws := new(Workspace)
	for magic := range 2 {
		for c := None; c <= LZ4; c++ {
			p, err := UpConvert(nil, golden(t, fmt.Sprintf("java-v%d-%s.bin", magic, c)), ws)
			if err != nil {
				t.Fatalf("v%d %v: %v", magic, c, err)
			}
			b := batches(t, p)[0]
			if _, err := Validate(b, ValidateOptions{Client: true}, ws); err != nil || b.Codec() != c || b.Count() != 50 {
				t.Fatalf("v%d %v: %v, codec %v, %d records", magic, c, err, b.Codec(), b.Count())
			}
			i := 0
			for r, err := range b.Records(ws) {
				if err != nil {
					t.Fatal(err)
				}
				goldenRecordAt(i, magic).check(t, i, b.BaseTimestamp()+r.TimestampDelta, r.Key, r.Value, nil)
				i++
			}
		}
	}
}

func TestDownConvert_JavaBatches_JavaSets(t *testing.T) {
	ws := new(Workspace)
	for magic := range 2 {
		for c := None; c <= LZ4; c++ {
			got, err := DownConvert(nil, golden(t, "java-v2-"+c.String()+".bin"), int8(magic), 0, ws)
			if err != nil {
				t.Fatalf("v%d %v: %v", magic, c, err)
			}
			want := golden(t, fmt.Sprintf("java-v%d-%s.bin", magic, c))
			if c == None && !bytes.Equal(got, want) {
				t.Errorf("v%d: differs from Kafka's at byte %d", magic, firstDifference(got, want))
			}
			if a, b := flat(t, got), flat(t, want); a != b {
				t.Errorf("v%d %v: other messages than Kafka's", magic, c)
			}
			// Kafka's header of the frame, wrong checksum and all.
			if c == LZ4 {
				_, g, _ := Message(got).Content()
				_, w, _ := Message(want).Content()
				if !bytes.Equal(g[:lz4HeaderMin], w[:lz4HeaderMin]) {
					t.Errorf("v%d: frame begins % x, Kafka's % x", magic, g[:lz4HeaderMin], w[:lz4HeaderMin])
				}
			}
		}
	}
	v1 := golden(t, "java-v1-gzip.bin")
	got, err := DownConvert(nil, v1, 0, 0, ws)
	if err != nil || flat(t, got) != flat(t, golden(t, "java-v0-gzip.bin")) {
		t.Errorf("format 1 to 0: %v", err)
	}
}

// flat writes messages as text.
func flat(t *testing.T, set []byte) string {
	t.Helper()
	var out bytes.Buffer
	for r, err := range Messages(set, nil) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, r.Offset, r.Timestamp, r.Key, r.Value)
	}
	return out.String()
}

func TestDownConvert_SpecialBatches(t *testing.T) {
	got, err := DownConvert(nil, golden(t, "java-marker.bin"), 1, 0, nil)
	if err != nil || len(got) != 0 {
		t.Errorf("control batch: %d bytes, %v", len(got), err)
	}
	if _, err := DownConvert(nil, golden(t, "java-v2-zstd.bin"), 1, 0, nil); !errors.Is(err, kerr.UnsupportedCompressionType) {
		t.Errorf("zstd: %v", err)
	}
	got, err = DownConvert(nil, golden(t, "java-v2-none.bin"), 1, 148, nil)
	if err != nil || len(batches(t, got)) != 2 || batches(t, got)[0].BaseOffset() != 148 {
		t.Errorf("from offset 148: %v", err)
	}
}

func TestUpConvert_Faults_Refused(t *testing.T) {
	three := golden(t, "java-v1-none.bin")
	set := append([]byte(nil), three[:len(batches(t, three)[0])+len(batches(t, three)[1])]...)
	wrongCRC := append([]byte(nil), set...)
	wrongCRC[len(wrongCRC)-1] ^= 1
	inner := appendMessage(nil, 1, 0, 1, 0, nil, []byte("x"))
	z, err := new(Workspace).Compress(nil, Gzip, DefaultLevel, inner)
	if err != nil {
		t.Fatal(err)
	}
	nested, err := new(Workspace).Compress(nil, Gzip, DefaultLevel, appendMessage(nil, 1, 0, 1, byte(Gzip), nil, z))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		set  []byte
		want error
	}{
		"empty":                     {nil, kerr.InvalidRecord},
		"wrong checksum in second":  {wrongCRC, kerr.CorruptMessage},
		"cut short":                 {set[:len(set)-1], kerr.InvalidRecord},
		"batch of format 2":         {golden(t, "java-v2-none.bin"), kerr.InvalidRecord},
		"zstd":                      {appendMessage(nil, 1, 0, 1, byte(Zstd), nil, z), kerr.InvalidRecord},
		"wrapper with a key":        {appendMessage(nil, 1, 0, 1, byte(Gzip), []byte("k"), z), kerr.InvalidRecord},
		"wrapper of rubbish":        {appendMessage(nil, 1, 0, 1, byte(Gzip), nil, []byte("rubbish")), kerr.InvalidRecord},
		"wrapper of nothing":        {appendMessage(nil, 1, 0, 1, byte(Snappy), nil, nil), kerr.InvalidRecord},
		"format 1 inside format 0":  {appendMessage(nil, 0, 0, 1, byte(Gzip), nil, z), kerr.InvalidRecord},
		"wrapper inside a wrapper":  {appendMessage(nil, 1, 0, 1, byte(Gzip), nil, nested), kerr.InvalidRecord},
		"lengths that do not agree": {appendMessageBadLength(), kerr.CorruptMessage},
	} {
		if _, err := UpConvert(nil, tc.set, nil); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
	}
}

// appendMessageBadLength is a message with a right checksum whose key claims more bytes than there are.
func appendMessageBadLength() []byte {
	m := appendMessage(nil, 1, 0, 1, 0, []byte("k"), []byte("v"))
	m[posMessageKeyV1+3] = 100
	binary.BigEndian.PutUint32(m[posMessageCRC:], crc32.ChecksumIEEE(m[posMagic:]))
	return m
}

func FuzzMessages(f *testing.F) {
	addGolden(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		b, err := UpConvert(nil, p, nil)
		if err != nil {
			return
		}
		if _, err := Validate(b, ValidateOptions{Client: true}, nil); err != nil {
			t.Fatalf("converted batch is not valid: %v", err)
		}
		if _, err := DownConvert(nil, b, 1, 0, nil); err != nil {
			t.Fatal(err)
		}
	})
}
