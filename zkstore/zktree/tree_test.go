package zktree

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// opened returns a tree with session 1.
func opened(t testing.TB) *Tree {
	t.Helper()
	tree := New()
	open(t, tree, 1)
	return tree
}

func open(t testing.TB, tree *Tree, id SessionID) {
	t.Helper()
	out := tree.Apply(&Txn{Kind: KindOpenSession, Session: id, TimeoutMs: 1000, Password: [PasswordLen]byte{byte(id)}})
	if !out.Changed {
		t.Fatalf("open session: %v", out.Code)
	}
}

func run(tree *Tree, ops ...Op) Outcome {
	return tree.Apply(&Txn{Kind: KindOps, Session: 1, TimeMs: 7, Ops: ops})
}

func create(path string, mode Mode) Op {
	return Op{Type: OpCreate, Path: path, Data: []byte("d"), ACL: OpenACL(), Mode: mode}
}

func TestTree_New_AsFreshZooKeeper(t *testing.T) {
	tree := New()
	kids, st, code := tree.Children("/")
	if code != OK || !slices.Equal(kids, []string{"zookeeper"}) || st.CVersion != -1 || st.NumChildren != 1 {
		t.Errorf("%v %+v %v", kids, st, code)
	}
}

func TestApply_Operations_CodesOfZooKeeper(t *testing.T) {
	readOnly := []ACL{{PermRead, "world", "anyone"}}
	tests := []struct {
		name string
		op   Op
		want Code
	}{
		{"create", create("/new", Persistent), OK},
		{"create what exists", create("/a", Persistent), NodeExists},
		{"create the root", create("/", Persistent), BadArguments},
		{"create without a parent", create("/x/y", Persistent), NoNode},
		{"create below an ephemeral node", create("/eph/x", Persistent), NoChildrenForEphemerals},
		{"create a relative path", create("a", Persistent), BadArguments},
		{"create with a trailing slash", create("/new/", Persistent), BadArguments},
		{"create with an empty component", create("/a//b", Persistent), BadArguments},
		{"create with dots", create("/a/../b", Persistent), BadArguments},
		{"create with a control character", create("/a/\x01", Persistent), BadArguments},
		{"create a sequence whose name is only the number", create("/a/", PersistentSequential), OK},
		{"create a container", create("/new", 4), Unimplemented},
		{"create without an acl", Op{Type: OpCreate, Path: "/new"}, InvalidACL},
		{"create with an acl of a scheme that is unknown", Op{Type: OpCreate, Path: "/new", ACL: []ACL{{PermAll, "digest", "u:p"}}}, InvalidACL},
		{"create where only reading is allowed", create("/ro/x", Persistent), NoAuth},
		{"delete", Op{Type: OpDelete, Path: "/leaf", Version: AnyVersion}, OK},
		{"delete at its version", Op{Type: OpDelete, Path: "/leaf"}, OK},
		{"delete at another version", Op{Type: OpDelete, Path: "/leaf", Version: 1}, BadVersion},
		{"delete with children", Op{Type: OpDelete, Path: "/a", Version: AnyVersion}, NotEmpty},
		{"delete what is not there", Op{Type: OpDelete, Path: "/no", Version: AnyVersion}, NoNode},
		{"delete the root", Op{Type: OpDelete, Path: "/", Version: AnyVersion}, BadArguments},
		{"set", Op{Type: OpSetData, Path: "/leaf"}, OK},
		{"set at another version", Op{Type: OpSetData, Path: "/leaf", Version: 3}, BadVersion},
		{"set what is not there", Op{Type: OpSetData, Path: "/no", Version: AnyVersion}, NoNode},
		{"set what may only be read", Op{Type: OpSetData, Path: "/ro", Version: AnyVersion}, NoAuth},
		{"set the acl", Op{Type: OpSetACL, Path: "/leaf", ACL: readOnly}, OK},
		{"set the acl at another version", Op{Type: OpSetACL, Path: "/leaf", ACL: readOnly, Version: 2}, BadVersion},
		{"set an acl with unknown permissions", Op{Type: OpSetACL, Path: "/leaf", ACL: []ACL{{64, "world", "anyone"}}}, InvalidACL},
		{"check", Op{Type: OpCheck, Path: "/leaf"}, OK},
		{"check another version", Op{Type: OpCheck, Path: "/leaf", Version: 1}, BadVersion},
		{"check what is not there", Op{Type: OpCheck, Path: "/no", Version: AnyVersion}, NoNode},
		{"an operation that does not exist", Op{Type: 99}, Unimplemented},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := opened(t)
			ro := create("/ro", Persistent)
			ro.ACL = readOnly
			if out := run(tree, create("/a", Persistent), create("/a/b", Persistent), create("/leaf", Persistent), create("/eph", Ephemeral), ro); out.Code != OK {
				t.Fatal(out.Code)
			}
			before, zxid := tree.AppendSnapshot(nil), tree.Zxid()
			out := run(tree, tt.op)
			if out.Code != tt.want || out.Results[0].Code != tt.want {
				t.Errorf("got %v, want %v", out.Code, tt.want)
			}
			if out.Code != OK && (out.Changed || tree.Zxid() != zxid || !bytes.Equal(before, tree.AppendSnapshot(nil))) {
				t.Error("a failed operation changed the tree")
			}
		})
	}
}

func TestApply_Multi_FailureRollsBackAll(t *testing.T) {
	tree := opened(t)
	run(tree, create("/a", Persistent))
	tree.Watch("/a", WatchChildren, 5)
	before := tree.AppendSnapshot(nil)
	out := run(tree, create("/a/s-", EphemeralSequential), Op{Type: OpSetData, Path: "/a", Data: []byte("longer")},
		Op{Type: OpSetACL, Path: "/a", ACL: []ACL{{PermAll, "world", "anyone"}, {0, "world", "anyone"}}},
		Op{Type: OpDelete, Path: "/a/s-0000000000"}, Op{Type: OpCheck, Path: "/a", Version: 9}, create("/b", Persistent))
	var codes []Code
	for _, r := range out.Results {
		codes = append(codes, r.Code)
	}
	if d := cmp.Diff([]Code{OK, OK, OK, OK, BadVersion, RuntimeInconsistency}, codes); d != "" || out.Code != BadVersion {
		t.Errorf("%v\n%s", out.Code, d)
	}
	if len(out.Notices) != 0 || !tree.HasWatch("/a", WatchChildren, 5) {
		t.Error("a failed multi fired a watch")
	}
	if !bytes.Equal(before, tree.AppendSnapshot(nil)) {
		t.Error("a failed multi changed the tree")
	}
}

func TestApply_Sequence_CountsCreationsOfParent(t *testing.T) {
	tree := opened(t)
	run(tree, create("/a", Persistent))
	var paths []string
	for i := range 4 {
		out := run(tree, create("/a/n-", PersistentSequential))
		paths = append(paths, out.Results[0].Path)
		if i == 1 {
			run(tree, Op{Type: OpDelete, Path: out.Results[0].Path, Version: AnyVersion})
		}
	}
	want := []string{"/a/n-0000000000", "/a/n-0000000001", "/a/n-0000000002", "/a/n-0000000003"}
	if d := cmp.Diff(want, paths); d != "" {
		t.Error(d)
	}
	st, _ := tree.Exists("/a")
	if st.CVersion != 5 || st.NumChildren != 3 || st.PZxid != tree.Zxid() {
		t.Errorf("%+v at %d", st, tree.Zxid())
	}
}

func TestApply_CloseSession_EphemeralsGoAndWatchersHear(t *testing.T) {
	tree := opened(t)
	open(t, tree, 2)
	run(tree, create("/p", Persistent), create("/p/b", Ephemeral), create("/p/a", Ephemeral))
	tree.Apply(&Txn{Kind: KindOps, Session: 2, Ops: []Op{create("/p/two", Ephemeral)}})
	tree.Watch("/p", WatchChildren, 9)
	tree.Watch("/p/a", WatchData, 9)
	out := tree.Apply(&Txn{Kind: KindCloseSession, Session: 1})
	want := []Notice{{9, Deleted, "/p/a"}, {9, ChildrenChanged, "/p"}}
	if d := cmp.Diff(want, out.Notices); d != "" {
		t.Error(d)
	}
	if kids, _, _ := tree.Children("/p"); !slices.Equal(kids, []string{"two"}) {
		t.Errorf("left: %v", kids)
	}
	if out := run(tree, create("/late", Persistent)); out.Code != SessionExpired {
		t.Errorf("a closed session wrote: %v", out.Code)
	}
	if out := tree.Apply(&Txn{Kind: KindCloseSession, Session: 1}); out.Changed {
		t.Error("closed twice")
	}
}

func TestWatch_EachKind_FiresAsZooKeeper(t *testing.T) {
	type fire struct {
		kind WatchKind
		path string
	}
	setup := []Op{create("/n", Persistent), create("/n/k", Persistent)}
	tests := []struct {
		name  string
		op    Op
		watch fire
		want  []Notice
	}{
		{"exists hears of a creation", create("/new", Persistent), fire{WatchData, "/new"}, []Notice{{1, Created, "/new"}}},
		{"data hears of a change", Op{Type: OpSetData, Path: "/n"}, fire{WatchData, "/n"}, []Notice{{1, DataChanged, "/n"}}},
		{"data does not hear of children", create("/n/x", Persistent), fire{WatchData, "/n"}, nil},
		{"data hears of the end", Op{Type: OpDelete, Path: "/n/k"}, fire{WatchData, "/n/k"}, []Notice{{1, Deleted, "/n/k"}}},
		{"children hears of a creation", create("/n/x", Persistent), fire{WatchChildren, "/n"}, []Notice{{1, ChildrenChanged, "/n"}}},
		{"children hears of a deletion", Op{Type: OpDelete, Path: "/n/k"}, fire{WatchChildren, "/n"}, []Notice{{1, ChildrenChanged, "/n"}}},
		{"children hears of the end", Op{Type: OpDelete, Path: "/n/k"}, fire{WatchChildren, "/n/k"}, []Notice{{1, Deleted, "/n/k"}}},
		{"children does not hear of data", Op{Type: OpSetData, Path: "/n"}, fire{WatchChildren, "/n"}, nil},
		{"nobody hears of an acl", Op{Type: OpSetACL, Path: "/n", ACL: OpenACL()}, fire{WatchData, "/n"}, nil},
		{"persistent hears of children", create("/n/x", Persistent), fire{WatchPersistent, "/n"}, []Notice{{1, ChildrenChanged, "/n"}}},
		{"persistent hears of data", Op{Type: OpSetData, Path: "/n"}, fire{WatchPersistent, "/n"}, []Notice{{1, DataChanged, "/n"}}},
		{"recursive hears of all below", Op{Type: OpSetData, Path: "/n/k"}, fire{WatchRecursive, "/n"}, []Notice{{1, DataChanged, "/n/k"}}},
		{"recursive hears no list of children", create("/n/x", Persistent), fire{WatchRecursive, "/"}, []Notice{{1, Created, "/n/x"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := opened(t)
			run(tree, setup...)
			tree.Watch(tt.watch.path, tt.watch.kind, 1)
			if d := cmp.Diff(tt.want, run(tree, tt.op).Notices); d != "" {
				t.Error(d)
			}
			stays := tt.want == nil || tt.watch.kind == WatchPersistent || tt.watch.kind == WatchRecursive
			if tree.HasWatch(tt.watch.path, tt.watch.kind, 1) != stays {
				t.Errorf("watch stays: %v, want %v", !stays, stays)
			}
		})
	}
}

func TestWatch_DataAndChildrenOfOneWatcher_OneDeletion(t *testing.T) {
	tree := opened(t)
	run(tree, create("/n", Persistent))
	tree.Watch("/n", WatchData, 1)
	tree.Watch("/n", WatchChildren, 1)
	tree.Watch("/n", WatchData, 2)
	out := run(tree, Op{Type: OpDelete, Path: "/n"})
	if d := cmp.Diff([]Notice{{1, Deleted, "/n"}, {2, Deleted, "/n"}}, out.Notices); d != "" {
		t.Error(d)
	}
}

func TestForget_AllWatchesOfOne_OthersStay(t *testing.T) {
	tree := opened(t)
	for _, k := range []WatchKind{WatchData, WatchChildren, WatchPersistent, WatchRecursive} {
		tree.Watch("/a", k, 1)
		tree.Watch("/b", k, 1)
		tree.Watch("/a", k, 2)
	}
	tree.Forget(1)
	if n := tree.Counts().Watches; n != 4 {
		t.Errorf("%d watches left", n)
	}
	if !tree.Unwatch("/a", WatchData, 2) || tree.Unwatch("/a", WatchData, 2) {
		t.Error("unwatch")
	}
}

func TestRestore_AfterReconnect_MissedChangesAreEvents(t *testing.T) {
	tree := opened(t)
	run(tree, create("/same", Persistent), create("/set", Persistent), create("/gone", Persistent), create("/kids", Persistent))
	seen := tree.Zxid()
	run(tree, Op{Type: OpSetData, Path: "/set"})
	run(tree, Op{Type: OpDelete, Path: "/gone"})
	run(tree, create("/kids/k", Persistent), create("/made", Persistent))
	got := tree.Restore(3, Rewatch{
		Seen: seen, Data: []string{"/same", "/set", "/gone"}, Exist: []string{"/made", "/none"},
		Children: []string{"/same", "/kids", "/gone"}, Persistent: []string{"/set"}, Recursive: []string{"/"},
	})
	want := []Notice{
		{3, DataChanged, "/set"}, {3, Deleted, "/gone"}, {3, Created, "/made"}, {3, ChildrenChanged, "/kids"}, {3, Deleted, "/gone"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := tree.Counts().Watches; n != 5 {
		t.Errorf("%d watches set, want /same twice, /none, /set, /", n)
	}
}

func TestSessions_Timeouts_TouchedLive(t *testing.T) {
	tree := opened(t)
	open(t, tree, 2)
	now := time.Unix(1000, 0)
	tree.TouchAll(now)
	now = now.Add(600 * time.Millisecond)
	if !tree.Touch(2, now) || tree.Touch(3, now) {
		t.Error("touch")
	}
	if got := tree.Expired(now); len(got) != 0 {
		t.Errorf("early: %v", got)
	}
	now = now.Add(500 * time.Millisecond)
	if got := tree.Expired(now); !slices.Equal(got, []SessionID{1}) {
		t.Errorf("expired: %v", got)
	}
	if timeout, ok := tree.Attach(2, append([]byte{2}, make([]byte, 15)...)); !ok || timeout != time.Second {
		t.Errorf("attach: %v %v", timeout, ok)
	}
	if _, ok := tree.Attach(2, make([]byte, 16)); ok {
		t.Error("a wrong password was taken")
	}
	if tree.MaxSession() != 2 {
		t.Errorf("max session %d", tree.MaxSession())
	}
}

func TestCode_Error_HasText(t *testing.T) {
	for c := range Code(200) {
		if (-c).Error() == "" {
			t.Errorf("code %d", -c)
		}
	}
	if got := fmt.Sprint(NoNode); got != "no node" {
		t.Errorf("got %q", got)
	}
}
