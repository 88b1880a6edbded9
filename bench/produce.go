package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceFrame encodes a Produce v7 of one batch.
func (l Load) produceFrame(partition int, batch []byte) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = int16(l.Acks), 30000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = l.Topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = int32(partition), batch
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return frame(req, 7)
}

// produced reads one answer to a produceFrame. The error code lies at a fixed place: after correlation id, topics, the
// topic's name, partitions and the partition.
func (l Load) produced(c *conn, buf []byte) ([]byte, error) {
	buf, err := c.response(buf)
	if err != nil {
		return buf, err
	}
	at := 4 + 4 + 2 + len(l.Topic) + 4 + 4
	if len(buf) < at+2 {
		return buf, fmt.Errorf("produce response of %d bytes", len(buf))
	}
	return buf, kerr.ErrorForCode(int16(binary.BigEndian.Uint16(buf[at:])))
}

// produce keeps requests in flight until stop. One write carries as many as there is room for.
func (l Load) produce(batch []byte, partitions int, stop time.Time) worker {
	return func(_ context.Context, i int, c *conn) (r Result, err error) {
		one := l.produceFrame(i%partitions, batch)
		many := bytes.Repeat(one, l.InFlight)
		var buf []byte
		for room, out := l.InFlight, 0; room > 0 || out > 0; {
			if time.Now().After(stop) {
				room = 0
			}
			if _, err := c.Write(many[:room*len(one)]); err != nil {
				return r, err
			}
			out += room
			room = 0
			if l.Acks == 0 {
				r.Requests, room, out = r.Requests+int64(out), min(out, l.InFlight), 0
				continue
			}
			for out > 0 && (room == 0 || c.whole()) {
				if buf, err = l.produced(c, buf); err != nil {
					return r, err
				}
				out--
				room++
				r.Requests++
			}
		}
		r.Bytes = r.Requests * int64(l.Records*l.ValueBytes)
		return r, nil
	}
}
