package cleaner

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jackdaw/internal/vfs"
	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

const testdata = "../testdata/kafka/"

// batchesOf reads the batches of all segments in a directory.
func batchesOf(t *testing.T, fsys vfs.FS, dir string) map[string][]record.Batch {
	t.Helper()
	list, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]record.Batch{}
	for _, e := range list {
		if filepath.Ext(e.Name) != ".log" {
			continue
		}
		b, err := vfs.ReadFile(fsys, filepath.Join(dir, e.Name))
		if err != nil {
			t.Fatal(err)
		}
		for len(b) > 0 {
			var batch record.Batch
			if batch, b, err = record.Next(b); err != nil {
				t.Fatal(err)
			}
			out[e.Name] = append(out[e.Name], batch)
		}
	}
	return out
}

// plain is a record without what aliases memory.
type plain struct {
	Offset, Time int64
	Key, Value   string
	Null         bool
}

func records(t *testing.T, b record.Batch) []plain {
	t.Helper()
	var out []plain
	for r, err := range b.Records(nil) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, plain{b.BaseOffset() + int64(r.OffsetDelta), b.BaseTimestamp() + r.TimestampDelta, string(r.Key), string(r.Value), r.Value == nil})
	}
	return out
}

// sameBatch compares all but length and checksum where a codec may compress differently.
func sameBatch(t *testing.T, want, got record.Batch) {
	t.Helper()
	if want.Codec() == record.None {
		if !bytes.Equal(want, got) {
			t.Errorf("batch %d: %x, Kafka has %x", want.BaseOffset(), got, want)
		}
		return
	}
	header := func(b record.Batch) []byte {
		h := bytes.Clone(b[:record.HeaderSize])
		clear(h[8:12])
		clear(h[17:21])
		return h
	}
	if !bytes.Equal(header(want), header(got)) || !got.CheckCRC() {
		t.Errorf("batch %d: %x, Kafka has %x", want.BaseOffset(), header(got), header(want))
	}
	if diff := cmp.Diff(records(t, want), records(t, got)); diff != "" {
		t.Errorf("batch %d: %s", want.BaseOffset(), diff)
	}
}

func TestCleaner_SameInputAsKafka_SameOutput(t *testing.T) {
	want := batchesOf(t, vfs.OS{}, testdata+"cleaned/kept-0")
	fsys := vfs.NewMem(nil)
	if err := fsys.MkdirAll("/d/kept-0"); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{".kafka_cleanshutdown", "kept-0/*"} {
		files, err := filepath.Glob(testdata + "uncleaned/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := vfs.WriteFileAtomic(fsys, "/d/"+f[len(testdata+"uncleaned/"):], b); err != nil {
				t.Fatal(err)
			}
		}
	}
	now := func() time.Time { return kafkasTime(t, want) }
	cfg := config()
	cfg.SegmentBytes, cfg.DeleteRetention = 6000, 24*time.Hour
	logs := log.NewManager(log.Options{FS: fsys, Dirs: []string{"/d"}, Config: func(string) log.Config { return cfg }, Now: now})
	if err := logs.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, ok := logs.Get(metadata.TopicPartition{Topic: "kept"})
	if !ok {
		t.Fatal("not loaded")
	}
	l.SetHighWatermark(l.EndOffset())
	if !New(Options{Logs: logs, Now: now}).CleanOnce(t.Context()) {
		t.Fatal("not cleaned")
	}
	got := batchesOf(t, fsys, "/d/kept-0")
	if len(got) != len(want) {
		t.Fatalf("%d segments, Kafka has %d", len(got), len(want))
	}
	for name, batches := range want {
		if len(got[name]) != len(batches) {
			t.Fatalf("%s: %d batches, Kafka has %d", name, len(got[name]), len(batches))
		}
		for i, b := range batches {
			sameBatch(t, b, got[name][i])
		}
	}
	sameTxnIndexes(t, fsys)
}

// kafkasTime is when Kafka cleaned: delete horizons are a day later.
func kafkasTime(t *testing.T, segments map[string][]record.Batch) time.Time {
	t.Helper()
	for _, batches := range segments {
		for _, b := range batches {
			if ms, ok := b.DeleteHorizon(); ok {
				return time.UnixMilli(ms).Add(-24 * time.Hour)
			}
		}
	}
	t.Fatal("no batch with a delete horizon")
	return time.Time{}
}

func sameTxnIndexes(t *testing.T, fsys vfs.FS) {
	t.Helper()
	files, err := filepath.Glob(testdata + "cleaned/kept-0/*.txnindex")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, f := range files {
		want, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := vfs.ReadFile(fsys, "/d/kept-0/"+filepath.Base(f))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, Kafka has %x, %v", filepath.Base(f), got, want, err)
		}
	}
}
