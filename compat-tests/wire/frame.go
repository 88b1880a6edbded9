package wire

import "encoding/binary"

// Frame builds a request by hand: size, header v1 (or v2, with an empty tag section, when flexible), body as it is.
func Frame(key, version int16, correlation int32, flexible bool, body []byte) []byte {
	head := binary.BigEndian.AppendUint16(nil, uint16(key))
	head = binary.BigEndian.AppendUint16(head, uint16(version))
	head = binary.BigEndian.AppendUint32(head, uint32(correlation))
	head = append(head, 0, 6)
	head = append(head, "compat"...)
	if flexible {
		head = append(head, 0)
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(head)+len(body)))
	return append(append(frame, head...), body...)
}

// Size is a frame's size field alone.
func Size(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
