package zktree

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// names make trees small enough for operations to meet.
var names = []string{"/a", "/b", "/a/a", "/a/b", "/b/a", "/a/a/a", "/a/seq-", "/", "bad"}

func drawOp(t *rapid.T) Op {
	return Op{
		Type:    OpType(rapid.IntRange(int(OpCreate), int(OpCheck)).Draw(t, "type")),
		Path:    rapid.SampledFrom(names).Draw(t, "path"),
		Data:    rapid.SampledFrom([][]byte{nil, {}, []byte("x"), []byte("yy")}).Draw(t, "data"),
		ACL:     OpenACL(),
		Mode:    Mode(rapid.IntRange(0, 3).Draw(t, "mode")),
		Version: int32(rapid.IntRange(-1, 2).Draw(t, "version")),
	}
}

func drawTxn(t *rapid.T) Txn {
	tx := Txn{
		TimeMs:  rapid.Int64Range(0, 1<<40).Draw(t, "time"),
		Session: SessionID(rapid.Int64Range(1, 3).Draw(t, "session")),
		Kind:    rapid.SampledFrom([]Kind{KindOps, KindOps, KindOps, KindOps, KindOpenSession, KindCloseSession}).Draw(t, "kind"),
	}
	switch tx.Kind {
	case KindOps:
		for range rapid.IntRange(1, 4).Draw(t, "ops") {
			tx.Ops = append(tx.Ops, drawOp(t))
		}
	case KindOpenSession:
		tx.TimeoutMs = 1000
	case KindCloseSession:
	}
	return tx
}

// Whatever is done: what fails changes nothing, the journal builds the same tree, and the tree is in order.
func TestTree_RandomTransactions_JournalAndSnapshotGiveSameTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := New()
		var journal []byte
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			tx := drawTxn(t)
			before := tree.AppendSnapshot(nil)
			out := tree.Apply(&tx)
			checkOutcome(t, tree, tx, out, before)
			checkTree(t, tree)
			if out.Changed {
				journal = AppendTxn(journal, &tx)
			}
		}
		want := tree.AppendSnapshot(nil)
		if got := replayAll(t, journal).AppendSnapshot(nil); !bytes.Equal(got, want) {
			t.Fatal("the journal builds another tree")
		}
		loaded, err := LoadSnapshot(want)
		if err != nil {
			t.Fatal(err)
		}
		checkTree(t, loaded)
		if got := loaded.AppendSnapshot(nil); !bytes.Equal(got, want) {
			t.Fatal("the snapshot builds another tree")
		}
	})
}

func checkOutcome(t *rapid.T, tree *Tree, tx Txn, out Outcome, before []byte) {
	after := tree.AppendSnapshot(nil)
	if out.Code != OK && out.Changed {
		t.Fatalf("%+v failed with %v and changed something", tx, out.Code)
	}
	if !out.Changed && !bytes.Equal(before, after) {
		t.Fatalf("%+v changed the tree and does not say so", tx)
	}
	if out.Changed && tx.Zxid != tree.Zxid() {
		t.Fatalf("zxid %d, tree at %d", tx.Zxid, tree.Zxid())
	}
	for _, r := range out.Results {
		if out.Code == OK && r.Code != OK {
			t.Fatalf("result %v of a transaction that was done", r.Code)
		}
	}
}

// checkTree verifies what must hold for any tree.
func checkTree(t *rapid.T, tree *Tree) {
	var size int64
	ephemerals := 0
	for path, n := range tree.nodes {
		size += int64(len(n.data))
		if path != "/" {
			size += int64(len(path))
		}
		for k := range n.children {
			if tree.nodes[strings.TrimSuffix(path, "/")+"/"+k] == nil {
				t.Fatalf("%s has a child %s that is not there", path, k)
			}
		}
		if path != "/" {
			parent, name := split(path)
			if _, ok := tree.nodes[parent].children[name]; !ok {
				t.Fatalf("%s is not known to its parent", path)
			}
		}
		if owner := n.stat.EphemeralOwner; owner != 0 {
			ephemerals++
			_, alive := tree.sessions[owner]
			if _, known := tree.ephemerals[owner][path]; !alive || !known || len(n.children) > 0 {
				t.Fatalf("ephemeral %s of %d: session lives %v, known %v, %d children", path, owner, alive, known, len(n.children))
			}
		}
		if n.stat.MZxid > tree.zxid || n.stat.PZxid > tree.zxid || n.stat.CZxid > n.stat.MZxid {
			t.Fatalf("%s has stat %+v at %d", path, n.stat, tree.zxid)
		}
	}
	c := tree.Counts()
	if c.DataBytes != size {
		t.Fatalf("counted %d bytes, there are %d", c.DataBytes, size)
	}
	if c.Ephemerals != ephemerals {
		t.Fatalf("counted %d ephemerals, there are %d", c.Ephemerals, ephemerals)
	}
}

func replayAll(t *rapid.T, journal []byte) *Tree {
	tree := New()
	for len(journal) > 0 {
		tx, rest, err := DecodeTxn(journal)
		if err != nil {
			t.Fatal(err)
		}
		journal = rest
		if err := tree.Replay(tx); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func FuzzDecodeTxn(f *testing.F) {
	f.Add(AppendTxn(nil, &Txn{Zxid: 1, Session: 2, Kind: KindOps, Ops: []Op{create("/a", Ephemeral), {Type: OpCheck, Path: "/"}}}))
	f.Add(AppendTxn(nil, &Txn{Zxid: 1, Session: 2, Kind: KindOpenSession, TimeoutMs: 5}))
	f.Fuzz(func(t *testing.T, b []byte) {
		tx, rest, err := DecodeTxn(b)
		if err != nil {
			return
		}
		again, _, err := DecodeTxn(AppendTxn(nil, &tx))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(tx) || len(rest) > len(b) {
			t.Errorf("%+v became %+v, %v", tx, again, err)
		}
	})
}

func FuzzLoadSnapshot(f *testing.F) {
	tree := opened(f)
	run(tree, create("/a", Persistent), create("/a/b", Ephemeral))
	f.Add(tree.AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := LoadSnapshot(b)
		if err != nil {
			return
		}
		if again, err := LoadSnapshot(got.AppendSnapshot(nil)); err != nil || again.Counts() != got.Counts() {
			t.Errorf("does not survive a round trip: %v", err)
		}
	})
}
