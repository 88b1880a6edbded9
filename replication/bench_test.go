package replication

import (
	"context"
	"strings"
	"testing"
	"time"

	"jackdaw/internal/vfs"
	"jackdaw/log"
	"jackdaw/metadata"
)

// benchManager is one broker on the machine's disk that leads t0 alone.
func benchManager(b *testing.B) *ReplicaManager {
	b.Helper()
	return benchManagerOf(b, log.DefaultConfig())
}

func benchManagerOf(b *testing.B, cfg log.Config) *ReplicaManager {
	b.Helper()
	logs := log.NewManager(log.Options{FS: vfs.OS{}, Dirs: []string{b.TempDir()}, Config: func(string) log.Config { return cfg }})
	if err := logs.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := logs.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Log(err)
		}
	})
	m := New(Config{BrokerID: 1, Logs: logs})
	s := PartitionState{TP: t0, TopicID: metadata.TopicID{1}, Replicas: ids(1), IsNew: true}
	s.Leader, s.ISR = 1, ids(1)
	if errs, err := m.ApplyLeaderAndISR(1, 1, []PartitionState{s}); err != nil || errs[t0] != nil {
		b.Fatal(err, errs)
	}
	return m
}

func BenchmarkAppend_16KiB_AcksAll(b *testing.B) {
	m := benchManager(b)
	records := batch(strings.Repeat("x", 16<<10))
	req := AppendRequest{Acks: -1, Timeout: time.Second, Entries: []AppendEntry{{TP: t0, Records: records}}}
	b.SetBytes(int64(len(records)))
	b.ReportAllocs()
	for b.Loop() {
		clear(records[:8])
		m.Append(req, func(r []AppendResult) {
			if r[0].Err != nil {
				b.Fatal(r[0].Err)
			}
		})
	}
}

func BenchmarkFetch_OnePartition(b *testing.B) {
	m := benchManager(b)
	records := batch(strings.Repeat("x", 16<<10))
	for range 100 {
		clear(records[:8])
		m.Append(AppendRequest{Acks: 1, Entries: []AppendEntry{{TP: t0, Records: records}}}, func([]AppendResult) {})
	}
	req := FetchRequest{Replica: metadata.NoBroker, MaxBytes: 1 << 20, MinBytes: 1, MaxWait: time.Second, Partitions: []FetchPartition{from(t0, 50)}}
	b.ReportAllocs()
	for b.Loop() {
		m.Fetch(req, func(r []FetchResult) {
			if r[0].Records.Size() == 0 {
				b.Fatal("no data")
			}
			r[0].Records.Release()
		})
	}
}

func BenchmarkFetch_ParkAndWake(b *testing.B) {
	m := benchManager(b)
	records := batch("x")
	offset := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		woken := false
		req := FetchRequest{Replica: metadata.NoBroker, MaxBytes: 1 << 20, MinBytes: 1, MaxWait: time.Minute, Partitions: []FetchPartition{from(t0, offset)}}
		m.Fetch(req, func(r []FetchResult) { woken = true; r[0].Records.Release() })
		clear(records[:8])
		m.Append(AppendRequest{Acks: 1, Entries: []AppendEntry{{TP: t0, Records: records}}}, func([]AppendResult) {})
		if offset++; !woken {
			b.Fatal("not woken")
		}
	}
}
