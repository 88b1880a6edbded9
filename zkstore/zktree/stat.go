package zktree

// SessionID names a session; 0 is none.
type SessionID int64

// Stat is what ZooKeeper tells about a node. Zxids are transaction ids, times are Unix milliseconds.
// ZooKeeper: org.apache.zookeeper.data.Stat.
type Stat struct {
	CZxid, MZxid                int64
	CTimeMs, MTimeMs            int64
	Version, CVersion, AVersion int32
	// EphemeralOwner is 0 for a persistent node.
	EphemeralOwner SessionID
	DataLength     int32
	NumChildren    int32
	PZxid          int64
}

// Perm is a set of permissions.
type Perm int32

// The permissions of ZooKeeper's ACLs. ZooKeeper: ZooDefs.Perms.
const (
	PermRead   Perm = 1
	PermWrite  Perm = 2
	PermCreate Perm = 4
	PermDelete Perm = 8
	PermAdmin  Perm = 16
	PermAll    Perm = 31
)

// ACL gives permissions to whom scheme and id name. The tree knows world:anyone only.
type ACL struct {
	Perms      Perm
	Scheme, ID string
}

// OpenACL is world:anyone:cdrwa, which Kafka gives to every node unless zookeeper.set.acl is on.
func OpenACL() []ACL { return []ACL{{PermAll, "world", "anyone"}} }

// node is one node of the tree.
type node struct {
	data []byte
	acl  []ACL
	// stat.CVersion counts creations of children only, as ZooKeeper stores it; see visible.
	// DataLength and NumChildren are not kept.
	stat Stat
	// children are names; nil while there were none.
	children map[string]struct{}
}

// visible gives the Stat that clients see. CVersion counts creations and deletions there.
func (n *node) visible() Stat {
	s := n.stat
	s.NumChildren = int32(len(n.children))
	s.CVersion = s.CVersion*2 - s.NumChildren
	s.DataLength = int32(len(n.data))
	return s
}

// permits reports whether anyone may do all of p.
func (n *node) permits(p Perm) bool {
	var has Perm
	for _, a := range n.acl {
		has |= a.Perms
	}
	return has&p == p
}

// validACL reports whether the list is not empty and has only entries that the tree can honor.
func validACL(list []ACL) bool {
	for _, a := range list {
		if a.Scheme != "world" || a.ID != "anyone" || a.Perms&^PermAll != 0 {
			return false
		}
	}
	return len(list) > 0
}
