//go:build compat

package compat

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/wire"
)

func TestTimestamps_CreateTime_StoredAsSent(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1, "message.timestamp.type", "CreateTime")
	sent := []int64{1, 0, -1, time.Now().UnixMilli()}
	for _, ts := range sent {
		p := produceOne(t, addr, topic, 0, 1, wire.Values("v").At(ts).Encode())
		if p.ErrorCode != 0 || p.LogAppendTime != -1 {
			t.Errorf("time %d: error %d, log append time %d; want 0 and -1", ts, p.ErrorCode, p.LogAppendTime)
		}
	}
	for i, b := range fetchBatches(t, addr, topic, 0, 0) {
		if b.FirstTimestamp != sent[i] || b.MaxTimestamp != sent[i] || b.Attributes&8 != 0 {
			t.Errorf("batch %d: times %d and %d, attributes %#x; want %d", i, b.FirstTimestamp, b.MaxTimestamp, b.Attributes, sent[i])
		}
	}
}

func TestTimestamps_LogAppendTime_TheBrokersOwn(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1, "message.timestamp.type", "LogAppendTime", "message.timestamp.before.max.ms", "1000")
	start := time.Now().UnixMilli()
	batches := []*wire.Batch{
		wire.Values("a").At(1), wire.Values("b").At(0), wire.Values("c").At(-1), wire.Values("d", "e"), wire.Values("f", "g").At(5).Gzip(),
	}
	var answered []int64
	for i, b := range batches {
		p := produceOne(t, addr, topic, 0, 1, b.Encode())
		if p.ErrorCode != 0 || p.LogAppendTime < start-1000 || p.LogAppendTime > time.Now().UnixMilli()+1000 {
			t.Errorf("batch %d: error %d, log append time %d; want 0 and now", i, p.ErrorCode, p.LogAppendTime)
		}
		answered = append(answered, p.LogAppendTime)
	}
	f := ask[*kmsg.FetchResponse](t, addr, wire.NewFetch(wire.Position{Topic: topic}), 11)
	raw := f.Topics[0].Partitions[0].RecordBatches
	stored, err := wire.Batches(raw)
	if err != nil || len(stored) != len(batches) {
		t.Fatalf("%d batches, %v", len(stored), err)
	}
	at := 0
	for i, b := range stored {
		if b.Attributes&8 == 0 || b.MaxTimestamp != answered[i] {
			t.Errorf("batch %d: attributes %#x, max time %d; want bit 3 and %d", i, b.Attributes, b.MaxTimestamp, answered[i])
		}
		if size := 12 + int(b.Length); !wire.CRCOK(raw[at : at+size]) {
			t.Errorf("batch %d has a wrong CRC", i)
		} else {
			at += size
		}
	}
	last := stored[len(stored)-1]
	if r, err := gzip.NewReader(bytes.NewReader(last.Records)); err != nil {
		t.Errorf("the gzip batch: %v", err)
	} else if _, err := io.ReadAll(r); err != nil {
		t.Errorf("the gzip batch: %v", err)
	}
}

func TestTimestamps_OutOfRange_Refused(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic, free := topicName(t), topicName(t)+"-appendtime"
	limits := []string{"message.timestamp.after.max.ms", "3600000", "message.timestamp.before.max.ms", "3600000"}
	createTopic(t, c, topic, 1, 1, limits...)
	createTopic(t, c, free, 1, 1, append(limits, "message.timestamp.type", "LogAppendTime")...)
	now := time.Now()
	for _, ts := range []int64{now.Add(2 * time.Hour).UnixMilli(), now.Add(-2 * time.Hour).UnixMilli()} {
		p := produceOne(t, addr, topic, 0, 1, wire.Values("v").At(ts).Encode())
		if p.ErrorCode != 32 || len(p.ErrorRecords) != 1 || p.ErrorRecords[0].RelativeOffset != 0 ||
			deref(p.ErrorMessage) != "One or more records have been rejected due to invalid timestamp" {
			t.Errorf("2 h off: error %d, %+v, message %s", p.ErrorCode, p.ErrorRecords, deref(p.ErrorMessage))
		}
		mustProduce(t, addr, free, 0, 1, wire.Values("v").At(ts))
	}
	mustProduce(t, addr, topic, 0, 1, wire.Values("v").At(now.Add(-time.Minute).UnixMilli()))
	if end := endOffset(t, addr, topic, 0); end != 1 {
		t.Errorf("end %d, want 1: only the record in range", end)
	}
}
