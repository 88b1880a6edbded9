package log

import (
	"strings"

	"jackdaw/protocol/record"
)

// segment prints the batches of a segment, and the records if asked.
func (d *dumper) segment(base int64) error {
	d.printf("Log starting offset: %d\n", base)
	f, err := d.fsys.OpenFile(d.path, 0)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	size, err := f.Size()
	if err != nil {
		return err
	}
	var buf [scratchSize]byte
	var werr error
	pos, err := walk(f, 0, size, buf[:], func(h header, pos int64) bool {
		b := make(record.Batch, h.size())
		if _, werr = f.ReadAt(b, pos); werr != nil {
			return false
		}
		d.batch(b, pos)
		return d.err == nil
	})
	if werr != nil {
		return werr
	}
	if pos < size && d.err == nil {
		d.printf("Found %d invalid bytes at the end of %s (%v)\n", size-pos, d.path, err)
	}
	return nil
}

// batch prints one batch.
func (d *dumper) batch(b record.Batch, pos int64) {
	if b.Magic() < 2 {
		d.legacy(b, pos)
		return
	}
	horizon := int64(-1)
	if ms, ok := b.DeleteHorizon(); ok {
		horizon = ms
	}
	d.printf("baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d "+
		"partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s position: %d %s: %d size: %d "+
		"magic: %d compresscodec: %s crc: %d isvalid: %t\n",
		b.BaseOffset(), b.LastOffset(), b.Count(), b.BaseSequence(), b.LastSequence(), b.ProducerID(), b.ProducerEpoch(),
		b.LeaderEpoch(), b.IsTransactional(), b.IsControl(), optional(horizon), pos, timeName(b), b.MaxTimestamp(), len(b),
		b.Magic(), b.Codec(), b.CRC(), b.CheckCRC())
	if d.o.DeepIteration || d.o.PrintData {
		d.records(b)
	}
}

// legacy prints an entry of an old message set.
func (d *dumper) legacy(b record.Batch, pos int64) {
	h := header(b)
	d.printf("offset: %d position: %d CreateTime: %d size: %d magic: %d\n", h.base(), pos, h.maxTimestamp(), len(b), h.magic())
}

func timeName(b record.Batch) string {
	if b.TimestampType() == record.LogAppendTime {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// records prints the records of a batch.
func (d *dumper) records(b record.Batch) {
	for r, err := range b.Records(nil) {
		if err != nil {
			d.printf("| invalid record: %v\n", err)
			return
		}
		ts := b.BaseTimestamp() + r.TimestampDelta
		if b.TimestampType() == record.LogAppendTime {
			ts = b.MaxTimestamp()
		}
		seq := record.NoSequence
		if b.BaseSequence() >= 0 {
			seq = record.AddSequence(b.BaseSequence(), r.OffsetDelta)
		}
		d.printf("| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]",
			b.BaseOffset()+int64(r.OffsetDelta), timeName(b), ts, size(r.Key), size(r.Value), seq, headerKeys(r))
		d.content(b, r)
		d.printf("\n")
	}
}

// content prints a marker, or key and value if asked.
func (d *dumper) content(b record.Batch, r record.Record) {
	switch {
	case b.IsControl():
		kind, epoch, ok := record.ParseMarker(b)
		if ok {
			d.printf(" endTxnMarker: %s coordinatorEpoch: %d", markerName(kind), epoch)
		}
	case d.o.PrintData:
		if r.Key != nil {
			d.printf(" key: %s", r.Key)
		}
		if r.Value != nil {
			d.printf(" payload: %s", r.Value)
		}
	}
}

func markerName(t record.MarkerType) string {
	if t == record.Commit {
		return "COMMIT"
	}
	return "ABORT"
}

func size(p []byte) int {
	if p == nil {
		return -1
	}
	return len(p)
}

func headerKeys(r record.Record) string {
	keys := make([]string, 0, len(r.Headers))
	for _, h := range r.Headers {
		keys = append(keys, h.Key)
	}
	return strings.Join(keys, ",")
}
