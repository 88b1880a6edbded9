package zkstore

import "github.com/go-zookeeper/zk"

// Stat is the state of a node. Zxids are ZooKeeper transaction ids, times are Unix milliseconds.
type Stat struct {
	// CZxid is the transaction that created the node, MZxid the last that changed its data, PZxid its children.
	CZxid, MZxid, PZxid int64
	CTimeMs, MTimeMs    int64
	// Version counts changes of the data, CVersion of the children, AVersion of the ACL.
	Version, CVersion, AVersion int32
	// EphemeralOwner is the session that the node belongs to, 0 for a persistent node.
	EphemeralOwner int64
	DataLength     int32
	NumChildren    int32
}

// statOf converts the library's type; nil is the zero Stat.
func statOf(s *zk.Stat) Stat {
	if s == nil {
		return Stat{}
	}
	return Stat{
		CZxid: s.Czxid, MZxid: s.Mzxid, PZxid: s.Pzxid, CTimeMs: s.Ctime, MTimeMs: s.Mtime,
		Version: s.Version, CVersion: s.Cversion, AVersion: s.Aversion,
		EphemeralOwner: s.EphemeralOwner, DataLength: s.DataLength, NumChildren: s.NumChildren,
	}
}
