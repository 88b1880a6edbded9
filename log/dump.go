package log

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"jackdaw/internal/vfs"
	"jackdaw/log/index"
	"jackdaw/log/producer"
)

// DumpOptions qualifies Dump.
type DumpOptions struct {
	// DeepIteration prints records, also those inside compressed batches; PrintData their keys and values too.
	DeepIteration, PrintData bool
	// IndexSanityCheck and VerifyIndexOnly check an index instead of printing it.
	IndexSanityCheck, VerifyIndexOnly bool
}

// Dump prints a segment, an index, a snapshot or a small text file in the manner of Kafka's DumpLogSegments. A file that
// contradicts itself or its segment is told in the output; an error means that it could not be read.
func Dump(w io.Writer, fsys vfs.FS, path string, o DumpOptions) error {
	d := &dumper{w: w, fsys: fsys, path: path, o: o}
	d.printf("Dumping %s\n", path)
	name := filepath.Base(path)
	for _, suffix := range []string{swapSuffix, cleanedSuffix, deletedSuffix} {
		name = strings.TrimSuffix(name, suffix)
	}
	base, _ := parseBase(strings.SplitN(name, ".", 2)[0], "")
	var err error
	switch filepath.Ext(name) {
	case logSuffix:
		err = d.segment(base)
	case indexSuffix:
		err = d.offsetIndex(base)
	case timeSuffix:
		err = d.timeIndex(base)
	case txnSuffix:
		err = d.txnIndex()
	case producer.Suffix:
		err = d.snapshot()
	default:
		err = d.text()
	}
	if err != nil {
		return err
	}
	return d.err
}

// dumper prints one file and keeps the first error of the writer.
type dumper struct {
	w    io.Writer
	fsys vfs.FS
	path string
	o    DumpOptions
	err  error
}

func (d *dumper) printf(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, format, args...)
	}
}

// offsetIndex prints an offset index, or checks it against its segment.
func (d *dumper) offsetIndex(base int64) error {
	x, err := index.OpenOffset(d.fsys, d.path, base)
	if err != nil {
		return err
	}
	defer x.Close() //nolint:errcheck // read only
	if d.o.IndexSanityCheck {
		return d.sanity(x.Check())
	}
	log, size, err := d.openSegment(indexSuffix)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // read only
	last := base
	for i := range x.Entries() {
		e, err := x.At(i)
		if err != nil {
			return err
		}
		if e.Offset == base && i > 0 {
			return nil // the rest was preallocated
		}
		if !d.o.VerifyIndexOnly {
			d.printf("offset: %d position: %d\n", e.Offset, e.Pos)
		}
		d.checkOffsetEntry(log, size, e, last)
		last = e.Offset
	}
	return nil
}

func (d *dumper) checkOffsetEntry(log vfs.File, size int64, e index.OffsetEntry, last int64) {
	var buf [scratchSize]byte
	found := int64(-1)
	_, err := walk(log, int64(e.Pos), size, buf[:], func(h header, _ int64) bool {
		found = h.last()
		return false
	})
	if err != nil || found != e.Offset || e.Offset < last {
		d.printf("Index offset %d at position %d, log has %d there (error: %v)\n", e.Offset, e.Pos, found, err)
	}
}

// timeIndex prints a time index, or checks it against its segment.
func (d *dumper) timeIndex(base int64) error {
	x, err := index.OpenTime(d.fsys, d.path, base)
	if err != nil {
		return err
	}
	defer x.Close() //nolint:errcheck // read only
	if d.o.IndexSanityCheck {
		return d.sanity(x.Check())
	}
	last := index.TimeEntry{Timestamp: -1}
	for i := range x.Entries() {
		e, err := x.At(i)
		if err != nil {
			return err
		}
		if e.Timestamp == 0 && i > 0 {
			return nil // the rest was preallocated
		}
		if !d.o.VerifyIndexOnly {
			d.printf("timestamp: %d offset: %d\n", e.Timestamp, e.Offset)
		}
		if e.Timestamp <= last.Timestamp || (i > 0 && e.Offset < last.Offset) {
			d.printf("Found out of order timestamp %d after %d\n", e.Timestamp, last.Timestamp)
		}
		last = e
	}
	return d.checkTimes(x)
}

// checkTimes looks for records that are later than the index says.
func (d *dumper) checkTimes(x *index.Time) error {
	log, size, err := d.openSegment(timeSuffix)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // read only
	var buf [scratchSize]byte
	latest := int64(-1)
	i := 0
	_, err = walk(log, 0, size, buf[:], func(h header, _ int64) bool {
		latest = max(latest, h.maxTimestamp())
		for ; i < x.Entries(); i++ {
			e, aerr := x.At(i)
			if aerr != nil || e.Offset > h.last() {
				break
			}
			if e.Timestamp < latest && e.Offset == h.last() {
				d.printf("Found timestamp mismatch in :%s\n  Index timestamp: %d, log timestamp: %d\n", d.path, e.Timestamp, latest)
			}
		}
		return true
	})
	return err
}

// openSegment opens the .log file beside an index.
func (d *dumper) openSegment(suffix string) (vfs.File, int64, error) {
	f, err := d.fsys.OpenFile(strings.TrimSuffix(d.path, suffix)+logSuffix, 0)
	if err != nil {
		return nil, 0, err
	}
	size, err := f.Size()
	return f, size, err
}

func (d *dumper) sanity(err error) error {
	if err != nil {
		d.printf("%s failed the sanity check: %v\n", d.path, err)
		return nil
	}
	d.printf("%s passed sanity check.\n", d.path)
	return nil
}

// txnIndex prints the aborted transactions.
func (d *dumper) txnIndex() error {
	x, err := index.OpenTxn(d.fsys, d.path)
	if err != nil {
		return err
	}
	all, err := x.All()
	if err != nil {
		return err
	}
	for _, t := range all {
		d.printf("version: 0 producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n",
			t.ProducerID, t.FirstOffset, t.LastOffset, t.LastStableOffset)
	}
	return nil
}

// snapshot prints the producers.
func (d *dumper) snapshot() error {
	b, err := vfs.ReadFile(d.fsys, d.path)
	if err != nil {
		return err
	}
	entries, err := producer.DecodeSnapshot(b)
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	for _, e := range entries {
		d.printf("producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s lastTimestamp: %d ",
			e.ID, e.Epoch, e.CoordinatorEpoch, optional(e.TxnFirstOffset), e.LastTimestamp)
		if last, ok := e.Last(); ok {
			d.printf("firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d",
				last.FirstSequence(), last.LastSequence, last.LastOffset, last.OffsetDelta, last.Timestamp)
		}
		d.printf("\n")
	}
	return nil
}

// optional prints a Java OptionalLong.
func optional(v int64) string {
	if v < 0 {
		return "OptionalLong.empty"
	}
	return fmt.Sprintf("OptionalLong[%d]", v)
}

// text prints checkpoints, partition.metadata and meta.properties as they are.
func (d *dumper) text() error {
	b, err := vfs.ReadFile(d.fsys, d.path)
	if err != nil {
		return err
	}
	d.printf("%s\n", strings.TrimSuffix(string(b), "\n"))
	return nil
}
