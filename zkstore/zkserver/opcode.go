package zkserver

// opcode is the type of a request. ZooKeeper: ZooDefs.OpCode.
type opcode int32

const (
	opNotify          opcode = 0
	opCreate          opcode = 1
	opDelete          opcode = 2
	opExists          opcode = 3
	opGetData         opcode = 4
	opSetData         opcode = 5
	opGetACL          opcode = 6
	opSetACL          opcode = 7
	opGetChildren     opcode = 8
	opSync            opcode = 9
	opPing            opcode = 11
	opGetChildren2    opcode = 12
	opCheck           opcode = 13
	opMulti           opcode = 14
	opCreate2         opcode = 15
	opCheckWatches    opcode = 17
	opRemoveWatches   opcode = 18
	opCreateContainer opcode = 19
	opCreateTTL       opcode = 21
	opMultiRead       opcode = 22
	opAuth            opcode = 100
	opSetWatches      opcode = 101
	opGetEphemerals   opcode = 103
	opCountChildren   opcode = 104
	opSetWatches2     opcode = 105
	opAddWatch        opcode = 106
	opWhoAmI          opcode = 107
	opCloseSession    opcode = -11
	opError           opcode = -1
)

// Special transaction ids of the client.
const (
	xidNotify = -1
	xidPing   = -2
	xidAuth   = -4
)
