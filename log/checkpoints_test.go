package log

import (
	"fmt"
	"sync"
	"testing"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// Checkpoints are written from time to time, when logs are cut, and at a stop: also at the same time.
func TestCheckpoints_WrittenAtTheSameTime_DirectoryStaysOnline(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	hws := map[metadata.TopicPartition]int64{}
	var logs []*Log
	for i := range int32(4) {
		tp := metadata.TopicPartition{Topic: "t", Partition: i}
		l, err := f.m.GetOrCreate(tp, metadata.TopicID{})
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			f.append(l, f.batch(1, record.BuilderOptions{}))
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		logs, hws[tp] = append(logs, l), 1
	}
	var all sync.WaitGroup
	for _, l := range logs {
		all.Go(func() {
			for end := int64(49); end > 0; end-- {
				if _, err := l.TruncateTo(end); err != nil {
					t.Error(err)
					return
				}
				f.m.checkpointRecovery()
				f.m.dirs[0].startMoved.Store(true)
				f.m.checkpointStarts()
				if err := f.m.WriteHWCheckpoints(hws); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if f.m.dirs[0].failed.Load() {
		t.Fatal("the log directory is offline")
	}
	if got := fmt.Sprint(f.reopen().EndOffset()); got != "1" {
		t.Errorf("log end %s", got)
	}
}
