package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// Message is one message of format 0 or 1.
type Message struct {
	Key, Value []byte // nil is null
	Timestamp  int64  // format 1 only, in ms
	Attributes byte
	BadCRC     bool
}

// MessageSet builds a message set of format magic, 0 or 1, with offsets 0, 1, 2...
func MessageSet(magic byte, messages ...Message) []byte {
	var set []byte
	for i, m := range messages {
		body := []byte{magic, m.Attributes}
		if magic == 1 {
			body = binary.BigEndian.AppendUint64(body, uint64(m.Timestamp))
		}
		body = nullable(nullable(body, m.Key), m.Value)
		crc := crc32.ChecksumIEEE(body)
		if m.BadCRC {
			crc++
		}
		set = binary.BigEndian.AppendUint64(set, uint64(i))
		set = binary.BigEndian.AppendUint32(set, uint32(len(body)+4))
		set = binary.BigEndian.AppendUint32(set, crc)
		set = append(set, body...)
	}
	return set
}

func nullable(dst, p []byte) []byte {
	if p == nil {
		return binary.BigEndian.AppendUint32(dst, 0xffffffff)
	}
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(p))), p...)
}

// OldMessage is a message of format 0 or 1 as it was fetched.
type OldMessage struct {
	Offset int64
	Magic  byte
	Message
}

// Messages splits a set of plain messages of format 0 or 1; cut tells that a part of a message is left at the end, and
// bad that a checksum is wrong or another format is among them.
func Messages(p []byte) (all []OldMessage, cut, bad bool) {
	for len(p) > 0 {
		if len(p) < 17 {
			return all, true, bad
		}
		size := 12 + int(binary.BigEndian.Uint32(p[8:]))
		if size > len(p) {
			return all, true, bad
		}
		m := OldMessage{Offset: int64(binary.BigEndian.Uint64(p)), Magic: p[16]}
		body := p[16:size]
		if m.Magic > 1 || crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(p[12:]) {
			return all, false, true
		}
		m.Attributes, body = body[1], body[2:]
		if m.Magic == 1 {
			m.Timestamp, body = int64(binary.BigEndian.Uint64(body)), body[8:]
		}
		m.Key, body = split(body)
		m.Value, _ = split(body)
		all = append(all, m)
		p = p[size:]
	}
	return all, false, bad
}

func split(p []byte) (field, rest []byte) {
	n := int32(binary.BigEndian.Uint32(p))
	if n < 0 {
		return nil, p[4:]
	}
	return p[4 : 4+n], p[4+n:]
}
