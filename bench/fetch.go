package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchFrame encodes a Fetch v11 of one partition, and tells where in it the offset is.
func (l Load) fetchFrame(partition int) (p []byte, at int) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MaxWaitMillis, req.MinBytes, req.SessionEpoch = int32(l.MaxBytes), 50, 1, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = l.Topic
	fp := kmsg.NewFetchRequestTopicPartition()
	fp.Partition, fp.PartitionMaxBytes, fp.CurrentLeaderEpoch = int32(partition), int32(l.MaxBytes), -1
	t.Partitions = append(t.Partitions, fp)
	req.Topics = append(req.Topics, t)
	p = frame(req, 11)
	// From the end: rack (empty string), forgotten topics, partition max bytes, log start offset, fetch offset.
	return p, len(p) - 2 - 4 - 4 - 8 - 8
}

// fetch reads a partition from its start to its end, again and again.
func (l Load) fetch(batch []byte, partitions int, stop time.Time) worker {
	return func(_ context.Context, i int, c *conn) (r Result, err error) {
		req, at := l.fetchFrame(i % partitions)
		drop := make([]byte, 1<<20)
		for offset := int64(0); time.Now().Before(stop); {
			binary.BigEndian.PutUint64(req[at:], uint64(offset))
			if _, err := c.Write(req); err != nil {
				return r, err
			}
			n, err := l.fetched(c, drop)
			if err != nil {
				return r, err
			}
			whole := n / len(batch) // all batches are alike; the last may be cut
			offset += int64(whole * l.Records)
			r.Requests++
			r.Bytes += int64(n)
			if whole == 0 {
				offset = 0
			}
		}
		return r, nil
	}
}

// fetched reads a Fetch v11 response of one partition: up to the size of the records at their fixed place, then the
// records into drop, past the small buffer. It returns how many bytes of records came.
func (l Load) fetched(c *conn, drop []byte) (records int, err error) {
	size, err := c.size()
	if err != nil {
		return 0, err
	}
	// correlation, throttle, error, session, topics; name, partitions; partition, error.
	code := 4 + 4 + 2 + 4 + 4 + 2 + len(l.Topic) + 4 + 4
	// error; high watermark, last stable and log start offset; aborted (none: read uncommitted), preferred replica.
	n := code + 2 + 8 + 8 + 8 + 4 + 4
	head := drop[:min(n+4, size)]
	if _, err := io.ReadFull(c.r, head); err != nil {
		return 0, err
	}
	if len(head) < n+4 {
		return 0, fmt.Errorf("fetch response of %d bytes", size)
	}
	if err := kerr.ErrorForCode(int16(binary.BigEndian.Uint16(head[code:]))); err != nil {
		return 0, err
	}
	records = int(int32(binary.BigEndian.Uint32(head[n:])))
	for left := size - len(head); left > 0; {
		k, err := io.ReadFull(c.r, drop[:min(left, len(drop))])
		if err != nil {
			return 0, err
		}
		left -= k
	}
	return max(records, 0), nil
}
