package log

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
)

// kafkaDir copies a log directory that Kafka wrote into a Mem.
func kafkaDir(t *testing.T) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem(nil)
	root := "testdata/kafka/datadir"
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join("/data", strings.TrimPrefix(path, root))
		if d.IsDir() {
			return m.MkdirAll(to)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return vfs.WriteFileAtomic(m, to, b)
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// dumpSection is one "$ kafka dump-log" of a captured dump: the files, and what was printed.
type dumpSection struct {
	data  bool
	files []string
	text  string
}

func dumpSections(t *testing.T, path string) []dumpSection {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []dumpSection
	for _, part := range strings.Split("\n"+string(b), "\n$ ")[1:] {
		cmd, text, _ := strings.Cut(part, "\n")
		_, files, _ := strings.Cut(cmd, "--files ")
		out = append(out, dumpSection{strings.Contains(cmd, "--print-data-log"), strings.Split(files, ","), strings.TrimSpace(text)})
	}
	return out
}

func TestDump_FilesOfKafka_PrintedAsKafkaDoes(t *testing.T) {
	dumps, err := filepath.Glob("testdata/kafka/dump/*.txt")
	if err != nil || len(dumps) == 0 {
		t.Fatal(dumps, err)
	}
	for _, path := range dumps {
		for _, s := range dumpSections(t, path) {
			var got bytes.Buffer
			for _, f := range s.files {
				if err := Dump(&got, vfs.OS{}, "testdata/kafka/datadir/"+f, DumpOptions{PrintData: s.data}); err != nil {
					t.Fatal(f, err)
				}
			}
			text := strings.ReplaceAll(got.String(), "testdata/kafka/datadir/", "")
			// Kafka complains about time indexes of cleaned segments that it wrote itself.
			want, _, _ := strings.Cut(s.text, "\nFound timestamp mismatch")
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(strings.TrimSpace(text), "\n")); diff != "" {
				t.Errorf("%s: %s", filepath.Base(path), diff)
			}
		}
	}
}

// snapshotOf returns names and contents of all files of a directory, without those in skip.
func snapshotOf(t *testing.T, fsys vfs.FS, dir string) map[string]string {
	t.Helper()
	list, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range list {
		if e.Dir {
			continue
		}
		b, err := vfs.ReadFile(fsys, filepath.Join(dir, e.Name))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name] = string(b)
	}
	return out
}

func TestManager_DirOfKafka_LoadedAndLeftAsItWas(t *testing.T) {
	fsys := kafkaDir(t)
	before := map[string]map[string]string{}
	dirs := []string{"codecs-0", "txn-0", "rolled-0", "compact-0", "cut-0", "__consumer_offsets-0", "__transaction_state-0"}
	for _, d := range dirs {
		before[d] = snapshotOf(t, fsys, "/data/"+d)
	}
	f := newFixture(t, fsys, func(c *Config) { c.IndexIntervalBytes = 256 })
	if n := len(f.m.All()); n != len(dirs) {
		t.Fatalf("%d logs", n)
	}
	for _, tc := range []struct {
		topic      string
		start, end int64
		batches    []int64
	}{
		{"codecs", 0, 22, []int64{0, 4, 8, 12, 16, 20}},
		{"rolled", 0, 48, []int64{0, 8, 16, 24, 32, 40}},
		{"cut", 21, 48, []int64{16, 24, 32, 40}},
		{"compact", 0, 66, []int64{0, 8, 16, 24, 32, 40, 48, 56, 64}},
		{"__consumer_offsets", 0, 3, []int64{0, 1, 2}},
	} {
		l, ok := f.m.Get(metadata.TopicPartition{Topic: tc.topic})
		if !ok {
			t.Fatal(tc.topic)
		}
		if l.StartOffset() != tc.start || l.EndOffset() != tc.end || l.TopicID().IsZero() {
			t.Errorf("%s: %d to %d, id %s", tc.topic, l.StartOffset(), l.EndOffset(), l.TopicID())
		}
		if got := readAll(t, l); !slices.Equal(got, tc.batches) {
			t.Errorf("%s: batches %v", tc.topic, got)
		}
	}
	txn, _ := f.m.Get(metadata.TopicPartition{Topic: "txn"})
	txn.SetHighWatermark(24)
	if diff := cmp.Diff([]AbortedTxn{{5, 6}}, aborted(t, txn, 0, 24)); diff != "" || txn.LastStableOffset() != 24 {
		t.Error(diff, txn.LastStableOffset())
	}
	if hw, stale := f.m.ReadHWCheckpoints(); hw[metadata.TopicPartition{Topic: "txn"}] != 24 || len(hw) != 7 || stale {
		t.Errorf("high watermarks %v", hw)
	}
	if err := f.m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Snapshots that belong to no segment go at a start, but for the newest; Kafka does so, too.
	delete(before["codecs-0"], "00000000000000000020.snapshot")
	delete(before["txn-0"], "00000000000000000018.snapshot")
	delete(before["__transaction_state-0"], "00000000000000000012.snapshot")
	for _, d := range dirs {
		if diff := cmp.Diff(before[d], snapshotOf(t, fsys, "/data/"+d)); diff != "" {
			t.Errorf("%s changed: %s", d, diff)
		}
	}
	if got := snapshotOf(t, fsys, "/data")[".kafka_cleanshutdown"]; got != `{"version":0,"brokerEpoch":-1}` {
		t.Errorf("clean shutdown mark %q", got)
	}
}

// Unclean start on Kafka's files: everything derived is built again and must come out byte for byte as Kafka wrote it,
// but for the snapshots, whose entries Kafka writes in hash order. Only the logs that Kafka wrote in one go can be compared:
// a restart begins to count bytes for the next index entry anew.
func TestManager_DirOfKafkaUnclean_RebuildsTheSameFiles(t *testing.T) {
	fsys := kafkaDir(t)
	dirs := []string{"rolled-0", "cut-0", "__consumer_offsets-0"}
	before := map[string]map[string]string{}
	for _, d := range dirs {
		before[d] = snapshotOf(t, fsys, "/data/"+d)
		for name := range before[d] {
			for _, suffix := range []string{".index", ".timeindex", ".txnindex", ".snapshot", "leader-epoch-checkpoint"} {
				if strings.HasSuffix(name, suffix) {
					if err := fsys.Remove("/data/" + d + "/" + name); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	for _, name := range []string{".kafka_cleanshutdown", "recovery-point-offset-checkpoint"} {
		if err := fsys.Remove("/data/" + name); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t, fsys, func(c *Config) { c.IndexIntervalBytes = 256 })
	if err := f.m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		after := snapshotOf(t, fsys, "/data/"+d)
		for name, content := range before[d] {
			if strings.HasSuffix(name, ".snapshot") || (d == "cut-0" && name == "leader-epoch-checkpoint") {
				continue
			}
			if after[name] != content {
				t.Errorf("%s/%s: % x, Kafka had % x", d, name, after[name], content)
			}
		}
	}
}
