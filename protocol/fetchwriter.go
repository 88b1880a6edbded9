package protocol

import (
	"encoding/binary"
	"math/bits"
)

// First versions of parts of a Fetch response.
const (
	fetchFlexible = 12
	fetchTopicIDs = 13
	fetchNodes    = 16
)

// BuildFetch encodes a Fetch response of any version to 17, with size and header, as a list of parts. Record parts alias
// resp's; the rest is made here.
func BuildFetch(h Header, resp *FetchResponse) []Part {
	var w FetchWriter
	return w.Build(h, resp)
}

// FetchWriter builds Fetch responses in memory that it reuses. It writes the bytes kmsg would, but for the records, which
// become parts of their own and are not copied. It is for one goroutine at a time. Kafka: FetchResponse, MultiRecordsSend.
type FetchWriter struct {
	buf   []byte
	cuts  []cut
	parts []Part
	extra int // bytes of records so far
}

// cut says that records belong after the first at bytes of the buffer.
type cut struct {
	at int
	p  *FetchPartition
}

// Build encodes resp as BuildFetch does. The parts are good until the next Build.
func (w *FetchWriter) Build(h Header, resp *FetchResponse) []Part {
	w.buf, w.cuts, w.parts, w.extra = append(w.buf[:0], 0, 0, 0, 0), w.cuts[:0], w.parts[:0], 0
	w.i32(h.CorrelationID)
	v := h.Version
	if v >= fetchFlexible {
		w.buf = append(w.buf, 0)
	}
	if v >= 1 {
		w.i32(resp.ThrottleMs)
	}
	if v >= 7 {
		w.i16(resp.ErrorCode)
		w.i32(resp.SessionID)
	}
	w.count(v, len(resp.Topics))
	for i := range resp.Topics {
		w.topic(v, &resp.Topics[i])
	}
	if v >= fetchFlexible {
		w.nodes(v, resp.Nodes)
	}
	binary.BigEndian.PutUint32(w.buf, uint32(len(w.buf)-4+w.extra))
	return w.split()
}

// split makes the list of parts, now that the buffer grows no more.
func (w *FetchWriter) split() []Part {
	from := 0
	for _, c := range w.cuts {
		w.parts = append(w.parts, Part{Bytes: w.buf[from:c.at:c.at]})
		if c.p.Records.File != nil {
			w.parts = append(w.parts, Part{Range: c.p.Records})
		} else {
			w.parts = append(w.parts, Part{Bytes: c.p.Bytes})
		}
		from = c.at
	}
	w.parts = append(w.parts, Part{Bytes: w.buf[from:]})
	return w.parts
}

func (w *FetchWriter) topic(v int16, t *FetchTopic) {
	switch {
	case v >= fetchTopicIDs:
		w.buf = append(w.buf, t.TopicID[:]...)
	case v >= fetchFlexible:
		w.compactString(t.Topic)
	default:
		w.i16(int16(len(t.Topic)))
		w.buf = append(w.buf, t.Topic...)
	}
	w.count(v, len(t.Partitions))
	for i := range t.Partitions {
		w.partition(v, &t.Partitions[i])
	}
	if v >= fetchFlexible {
		w.buf = append(w.buf, 0)
	}
}

func (w *FetchWriter) partition(v int16, p *FetchPartition) {
	w.i32(p.Partition)
	w.i16(p.ErrorCode)
	w.i64(p.HighWatermark)
	if v >= 4 {
		w.i64(p.LastStableOffset)
	}
	if v >= 5 {
		w.i64(p.LogStartOffset)
	}
	if v >= 4 {
		w.aborted(v, p.Aborted)
	}
	if v >= 11 {
		w.i32(p.PreferredReadReplica)
	}
	w.records(v, p)
	if v >= fetchFlexible {
		w.partitionTags(p)
	}
}

func (w *FetchWriter) aborted(v int16, txns []AbortedTransaction) {
	if txns == nil {
		w.null(v)
		return
	}
	w.count(v, len(txns))
	for _, t := range txns {
		w.i64(t.ProducerID)
		w.i64(t.FirstOffset)
		if v >= fetchFlexible {
			w.buf = append(w.buf, 0)
		}
	}
}

// records writes the length of the records and marks where they go.
func (w *FetchWriter) records(v int16, p *FetchPartition) {
	n := len(p.Bytes)
	if p.Records.File != nil {
		n = p.Records.Len
	}
	w.count(v, n)
	if n > 0 {
		w.cuts = append(w.cuts, cut{at: len(w.buf), p: p})
		w.extra += n
	}
}

func (w *FetchWriter) partitionTags(p *FetchPartition) {
	d, l := p.DivergingEpoch, p.CurrentLeader
	hasD, hasL := d.Epoch >= 0 || d.EndOffset >= 0, l.LeaderID >= 0 || l.LeaderEpoch >= 0
	n := byte(0)
	if hasD {
		n++
	}
	if hasL {
		n++
	}
	w.buf = append(w.buf, n)
	if hasD {
		w.buf = append(w.buf, 0, 13)
		w.i32(d.Epoch)
		w.i64(d.EndOffset)
		w.buf = append(w.buf, 0)
	}
	if hasL {
		w.buf = append(w.buf, 1, 9)
		w.i32(l.LeaderID)
		w.i32(l.LeaderEpoch)
		w.buf = append(w.buf, 0)
	}
}

// nodes writes the tagged fields at the end of the response.
func (w *FetchWriter) nodes(v int16, nodes []FetchNode) {
	if v < fetchNodes || len(nodes) == 0 {
		w.buf = append(w.buf, 0)
		return
	}
	size := uvarintLen(uint32(len(nodes) + 1))
	for _, n := range nodes {
		size += 4 + compactLen(len(n.Host)) + 4 + 1 + 1
		if n.Rack != nil {
			size += compactLen(len(*n.Rack)) - 1
		}
	}
	w.buf = append(w.buf, 1, 0)
	w.uvarint(uint32(size))
	w.count(v, len(nodes))
	for _, n := range nodes {
		w.i32(n.NodeID)
		w.compactString(n.Host)
		w.i32(n.Port)
		if n.Rack == nil {
			w.buf = append(w.buf, 0)
		} else {
			w.compactString(*n.Rack)
		}
		w.buf = append(w.buf, 0)
	}
}

func (w *FetchWriter) i16(v int16) { w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(v)) }
func (w *FetchWriter) i32(v int32) { w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(v)) }
func (w *FetchWriter) i64(v int64) { w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(v)) }

func (w *FetchWriter) uvarint(v uint32) { w.buf = binary.AppendUvarint(w.buf, uint64(v)) }

// count writes the length of an array or of bytes.
func (w *FetchWriter) count(v int16, n int) {
	if v >= fetchFlexible {
		w.uvarint(uint32(n + 1))
		return
	}
	w.i32(int32(n))
}

// null writes the length of a null array.
func (w *FetchWriter) null(v int16) {
	if v >= fetchFlexible {
		w.buf = append(w.buf, 0)
		return
	}
	w.i32(-1)
}

func (w *FetchWriter) compactString(s string) {
	w.uvarint(uint32(len(s) + 1))
	w.buf = append(w.buf, s...)
}

func uvarintLen(v uint32) int { return max(1, (bits.Len32(v)+6)/7) }

// compactLen is the size of a compact string of n bytes with its length.
func compactLen(n int) int { return uvarintLen(uint32(n+1)) + n }
