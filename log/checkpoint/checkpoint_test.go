package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
)

// kafka is the log directory that Kafka wrote; see log/testdata/README.md.
const kafka = "../testdata/kafka/datadir"

func tp(topic string) metadata.TopicPartition { return metadata.TopicPartition{Topic: topic} }

func TestOffsets_FilesOfKafka_ReadAndWritten(t *testing.T) {
	for name, want := range map[string]Offsets{
		RecoveryPoint: {tp("__consumer_offsets"): 3, tp("cut"): 48, tp("compact"): 66, tp("codecs"): 22, tp("__transaction_state"): 16, tp("rolled"): 48, tp("txn"): 24},
		LogStart:      {tp("cut"): 21},
		Cleaner:       {tp("compact"): 64},
	} {
		got, err := ReadOffsets(vfs.OS{}, kafka, name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		file, err := os.ReadFile(filepath.Join(kafka, name))
		if err != nil {
			t.Fatal(err)
		}
		if len(EncodeOffsets(got)) != len(file) {
			t.Errorf("%s: %d bytes, Kafka wrote %d", name, len(EncodeOffsets(got)), len(file))
		}
	}
}

func TestOffsets_MissingOrBroken_EmptyOrCorrupt(t *testing.T) {
	fsys := vfs.NewMem(nil)
	if err := fsys.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	if m, err := ReadOffsets(fsys, "/d", RecoveryPoint); err != nil || len(m) != 0 {
		t.Fatal(m, err)
	}
	if err := vfs.WriteFileAtomic(fsys, "/d/"+RecoveryPoint, nil); err != nil {
		t.Fatal(err)
	}
	if m, err := ReadOffsets(fsys, "/d", RecoveryPoint); err != nil || len(m) != 0 {
		t.Errorf("an empty file, as Kafka makes it first: %v, %v", m, err)
	}
	for _, text := range []string{"0\n", "1\n0\n", "0\n1\n", "0\n1\nt 0\n", "0\n1\nt x 5\n", "0\n2\nt 0 5\n"} {
		if err := vfs.WriteFileAtomic(fsys, "/d/"+RecoveryPoint, []byte(text)); err != nil {
			t.Fatal(err)
		}
		var corrupt *CorruptError
		if _, err := ReadOffsets(fsys, "/d", RecoveryPoint); !errors.As(err, &corrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTopicID_FileOfKafka_SameBytes(t *testing.T) {
	id, err := ReadTopicID(vfs.OS{}, kafka+"/cut-0")
	if err != nil || id.String() != "MYXSsR9jScG_WVgSRURqyw" {
		t.Fatal(id, err)
	}
	want, err := os.ReadFile(kafka + "/cut-0/" + PartitionMetadata)
	if err != nil {
		t.Fatal(err)
	}
	if got := EncodeTopicID(id); string(got) != string(want) {
		t.Fatalf("%q, Kafka wrote %q", got, want)
	}
	if id, err := ReadTopicID(vfs.OS{}, t.TempDir()); err != nil || !id.IsZero() {
		t.Fatal(id, err)
	}
}

func TestMeta_FileOfKafka_SameBytes(t *testing.T) {
	m, ok, err := ReadMeta(vfs.OS{}, kafka)
	if err != nil || !ok || m != (Meta{1, "CApUn4GlRFO21jwHMeQAkg"}) {
		t.Fatal(m, ok, err)
	}
	want, err := os.ReadFile(kafka + "/" + MetaProperties)
	if err != nil {
		t.Fatal(err)
	}
	if got := EncodeMeta(m, time.Date(2026, 11, 29, 16, 36, 15, 0, time.UTC)); string(got) != string(want) {
		t.Fatalf("%q, Kafka wrote %q", got, want)
	}
	for text, good := range map[string]bool{
		"broker.id=x\n": false, "version=7\n": false, "version=1\nnode.id=4\ncluster.id=a\ndirectory.id=b\n": true, "": true,
	} {
		if _, err := DecodeMeta([]byte(text)); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCleanShutdown_Mark_TakenOnce(t *testing.T) {
	fsys := vfs.NewMem(nil)
	if err := fsys.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	if ok, err := TakeCleanShutdown(fsys, "/d"); ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := WriteCleanShutdown(fsys, "/d"); err != nil {
		t.Fatal(err)
	}
	fsys = fsys.CrashClone(nil)
	if ok, err := TakeCleanShutdown(fsys, "/d"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := TakeCleanShutdown(fsys.CrashClone(nil), "/d"); ok || err != nil {
		t.Fatal(ok, err)
	}
}

func FuzzDecodeOffsets(f *testing.F) {
	f.Add("0\n2\nt 0 5\n__consumer_offsets 49 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := DecodeOffsets([]byte(text))
		if err != nil || len(m) != strings.Count(strings.TrimSuffix(text, "\n"), "\n")-1 {
			return // broken, or a partition twice
		}
		again, err := DecodeOffsets(EncodeOffsets(m))
		if err != nil || !cmp.Equal(again, m) {
			t.Fatal(cmp.Diff(m, again), err)
		}
	})
}

func FuzzDecodeTopicID(f *testing.F) {
	f.Add(string(EncodeTopicID(metadata.TopicID{1, 2, 3})))
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := decodeTopicID("x", text); err == nil {
			if again, err := decodeTopicID("x", string(EncodeTopicID(id))); err != nil || again != id {
				t.Fatal(again, err)
			}
		}
	})
}
