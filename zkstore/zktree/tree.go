package zktree

import (
	"maps"
	"slices"
	"strings"
)

// Tree is the data tree with its sessions and watches. ZooKeeper: DataTree, SessionTrackerImpl.
type Tree struct {
	nodes    map[string]*node
	zxid     int64
	sessions map[SessionID]*session
	// ephemerals has the paths of each session that owns any.
	ephemerals map[SessionID]map[string]struct{}
	dataBytes  int64
	data, kids watchTable
	recursive  watchTable
	persistent watchTable
	// undo takes back the operations of the transaction under way, last first.
	undo []func()
	// fired are the changes of the transaction under way.
	fired []change
}

// New returns a tree as a new ZooKeeper has it: the root and its own /zookeeper nodes.
func New() *Tree {
	t := empty()
	t.nodes["/"] = &node{data: []byte{}, acl: OpenACL()}
	for _, path := range []string{"/zookeeper", "/zookeeper/quota"} {
		parent, _ := split(path)
		t.attach(path, &node{data: []byte{}, acl: OpenACL()}, t.nodes[parent])
	}
	return t
}

// empty returns a tree without any node.
func empty() *Tree {
	return &Tree{
		nodes:      map[string]*node{},
		sessions:   map[SessionID]*session{},
		ephemerals: map[SessionID]map[string]struct{}{},
		data:       newWatchTable(), kids: newWatchTable(),
		persistent: newWatchTable(), recursive: newWatchTable(),
	}
}

// Zxid is the id of the last transaction that changed the tree.
func (t *Tree) Zxid() int64 { return t.zxid }

// Counts are the numbers that the mntr command shows.
type Counts struct {
	Nodes, Ephemerals, Sessions, Watches int
	// DataBytes is the length of all paths but the root's, and of all data.
	DataBytes int64
}

// Counts returns the size of the tree.
func (t *Tree) Counts() Counts {
	c := Counts{Nodes: len(t.nodes), Sessions: len(t.sessions), DataBytes: t.dataBytes}
	for _, e := range t.ephemerals {
		c.Ephemerals += len(e)
	}
	for _, w := range []*watchTable{&t.data, &t.kids, &t.persistent, &t.recursive} {
		c.Watches += w.len()
	}
	return c
}

// readable returns a node that may be read.
func (t *Tree) readable(path string, p Perm) (*node, Code) {
	if !ValidPath(path) {
		return nil, BadArguments
	}
	n, ok := t.nodes[path]
	switch {
	case !ok:
		return nil, NoNode
	case p != 0 && !n.permits(p):
		return nil, NoAuth
	default:
		return n, OK
	}
}

// Data returns the data of a node, nil when it is null.
func (t *Tree) Data(path string) ([]byte, Stat, Code) {
	n, c := t.readable(path, PermRead)
	if c != OK {
		return nil, Stat{}, c
	}
	return n.data, n.visible(), OK
}

// Exists returns the state of a node; NoNode when there is none.
func (t *Tree) Exists(path string) (Stat, Code) {
	n, c := t.readable(path, 0)
	if c != OK {
		return Stat{}, c
	}
	return n.visible(), OK
}

// Children returns the names of the children of a node, sorted.
func (t *Tree) Children(path string) ([]string, Stat, Code) {
	n, c := t.readable(path, PermRead)
	if c != OK {
		return nil, Stat{}, c
	}
	return slices.Sorted(maps.Keys(n.children)), n.visible(), OK
}

// ACL returns the access list of a node.
func (t *Tree) ACL(path string) ([]ACL, Stat, Code) {
	n, c := t.readable(path, 0)
	if c != OK {
		return nil, Stat{}, c
	}
	if !n.permits(PermRead) && !n.permits(PermAdmin) {
		return nil, Stat{}, NoAuth
	}
	return n.acl, n.visible(), OK
}

// Descendants counts the nodes below a node.
func (t *Tree) Descendants(path string) (int, Code) {
	if _, c := t.readable(path, PermRead); c != OK {
		return 0, c
	}
	count := 0
	prefix := strings.TrimSuffix(path, "/") + "/"
	for p := range t.nodes {
		if p != "/" && strings.HasPrefix(p, prefix) {
			count++
		}
	}
	return count, OK
}

// Ephemerals returns the ephemeral nodes of a session below a prefix, sorted.
func (t *Tree) Ephemerals(id SessionID, prefix string) []string {
	var out []string
	for p := range t.ephemerals[id] {
		if strings.HasPrefix(p, prefix) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}
