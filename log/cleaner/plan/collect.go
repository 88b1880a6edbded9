package plan

import (
	"jackdaw/protocol/record"
)

// Collector fills an OffsetMap from the dirty part of a log. Kafka: Cleaner.buildOffsetMap.
type Collector struct {
	// Map gets the keys.
	Map *OffsetMap
	// Start is the first dirty offset.
	Start int64
	// Txns knows the aborted transactions from Start on.
	Txns *Transactions
	// Workspace is the memory to decompress in.
	Workspace *record.Workspace
}

// Add takes the next batch. full tells that the map had no room for all of it: the pass ends before this batch. The keys of
// it that got in do no harm, since records above Map.Latest are kept whatever the map says.
func (c *Collector) Add(b record.Batch) (full bool, err error) {
	if b.Magic() < 2 {
		return c.addOld(b)
	}
	if b.IsControl() {
		c.Txns.Marker(b)
	} else if !c.Txns.Data(b) {
		for r, err := range b.Records(c.Workspace) {
			if err != nil {
				return false, err
			}
			off := b.BaseOffset() + int64(r.OffsetDelta)
			if r.Key != nil && off >= c.Start && !c.Map.Put(r.Key, off) {
				return true, nil
			}
		}
	}
	if b.LastOffset() >= c.Start {
		c.Map.Covered(b.LastOffset())
	}
	return false, nil
}

// addOld is Add for an entry of an old format. The offset of a compressed one is that of its last message.
func (c *Collector) addOld(b record.Batch) (full bool, err error) {
	for r, err := range record.Messages(b, c.Workspace) {
		if err != nil {
			return false, err
		}
		if r.Key != nil && r.Offset >= c.Start && !c.Map.Put(r.Key, r.Offset) {
			return true, nil
		}
	}
	if b.BaseOffset() >= c.Start {
		c.Map.Covered(b.BaseOffset())
	}
	return false, nil
}
