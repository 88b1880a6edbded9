package broker_test

import (
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func rawConn(t *testing.T, r *running) net.Conn {
	t.Helper()
	e := r.Endpoints()[0]
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// exchange sends a request and reads its answer into in.
func exchange(t *testing.T, c net.Conn, out, in []byte) []byte {
	t.Helper()
	if _, err := c.Write(out); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, in[:4]); err != nil {
		t.Fatal(err)
	}
	in = in[:binary.BigEndian.Uint32(in)]
	if _, err := io.ReadFull(c, in); err != nil {
		t.Fatal(err)
	}
	return in
}

// produceOf produces a batch to partition 0, acks=1.
func produceOf(topic string, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 7, 1, 1000
	pt := kmsg.NewProduceRequestTopic()
	pt.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = batch
	pt.Partitions = append(pt.Partitions, p)
	req.Topics = append(req.Topics, pt)
	return req
}
