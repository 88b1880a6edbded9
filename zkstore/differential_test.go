package zkstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"jackdaw/zkstore"
)

// The embedded server and Apache ZooKeeper get the same random operations and must answer the same.
func TestServers_SameRandomOperations_SameAnswers(t *testing.T) {
	apache(t)
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			places := []env{
				{addr: embedded(t), chroot: "/x"},
				apache(t),
			}
			var traces [2][]string
			for i, e := range places {
				_, s := client(t, e.config())
				traces[i] = trace(t, s, rand.New(rand.NewPCG(seed, 1)), 250)
			}
			for i := range traces[0] {
				if traces[0][i] != traces[1][i] {
					t.Fatalf("step %d after %s\nembedded %s\napache   %s", i, traces[0][max(0, i-1)], traces[0][i], traces[1][i])
				}
			}
		})
	}
}

// trace runs operations and describes each with its answer.
func trace(t *testing.T, s *zkstore.Session, rnd *rand.Rand, n int) []string {
	t.Helper()
	var out []string
	for range n {
		out = append(out, step(t, s, rnd))
	}
	return out
}

var diffPaths = []string{"/a", "/b", "/a/a", "/a/b", "/b/a", "/a/a/a", "/a/s-", "/b/s-", "/"}

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }

func drawOp(rnd *rand.Rand) (zkstore.Op, string) {
	path := pick(rnd, diffPaths...)
	version := pick[int32](rnd, -1, -1, 0, 1, 2)
	data := pick(rnd, nil, []byte{}, []byte("x"), []byte("longer"))
	switch rnd.IntN(5) {
	case 0, 1:
		if path == "/" { // a sequence would be made beside the chroot
			path = "/a"
		}
		mode := pick(rnd, zkstore.Persistent, zkstore.Persistent, zkstore.Ephemeral, zkstore.PersistentSequential, zkstore.EphemeralSequential)
		return zkstore.CreateOp(path, data, mode), fmt.Sprintf("create %s %q %d", path, data, mode)
	case 2:
		return zkstore.SetOp(path, data, version), fmt.Sprintf("set %s %q %d", path, data, version)
	case 3:
		if path == "/" { // the chroot itself
			path = "/b"
		}
		return zkstore.DeleteOp(path, version), fmt.Sprintf("delete %s %d", path, version)
	default:
		return zkstore.CheckOp(path, version), fmt.Sprintf("check %s %d", path, version)
	}
}

// step runs a transaction of a few operations, or a read, and watches what it does to one node.
func step(t *testing.T, s *zkstore.Session, rnd *rand.Rand) string {
	t.Helper()
	ctx := t.Context()
	var ops []zkstore.Op
	var what []string
	for range 1 + rnd.IntN(3) {
		op, text := drawOp(rnd)
		ops, what = append(ops, op), append(what, text)
	}
	watched := pick(rnd, diffPaths...)
	exists, _, dataEvent, err := s.ExistsW(ctx, watched)
	must(t, err)
	var kidsEvent <-chan zkstore.Event
	if exists {
		_, _, kidsEvent, err = s.ChildrenW(ctx, watched)
		must(t, err)
	}
	res, err := s.Multi(ctx, ops...)
	text := strings.Join(what, "; ") + " -> " + kind(err)
	for _, r := range res {
		text += fmt.Sprintf(" [%s %s %s]", r.Path, shape(r.Stat), kind(r.Err))
	}
	// A read after the write is answered after the events that the write caused.
	for _, p := range diffPaths {
		data, st, err := s.Get(ctx, p)
		kids, _, kerr := s.Children(ctx, p)
		slices.Sort(kids)
		text += fmt.Sprintf("\n  %s %q null=%v %s %s %v %s", p, data, data == nil, shape(st), kind(err), kids, kind(kerr))
	}
	return text + fmt.Sprintf("\n  watched %s: %s %s", watched, fired(dataEvent), fired(kidsEvent))
}

func fired(ch <-chan zkstore.Event) string {
	select {
	case e := <-ch:
		return fmt.Sprintf("event %d", e.Type)
	default:
		return "quiet"
	}
}

// shape is what of a Stat is the same on both servers: times and zxids differ, their order does not.
func shape(st zkstore.Stat) string {
	return fmt.Sprintf("v%d c%d a%d e%v l%d n%d m%v p%v", st.Version, st.CVersion, st.AVersion, st.EphemeralOwner != 0,
		st.DataLength, st.NumChildren, st.MZxid == st.CZxid, st.PZxid == st.CZxid)
}

func kind(err error) string {
	for _, k := range []error{
		zkstore.ErrNoNode, zkstore.ErrNodeExists, zkstore.ErrBadVersion, zkstore.ErrNotEmpty,
		zkstore.ErrNoChildrenForEphemerals, zkstore.ErrRolledBack,
	} {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	if err != nil {
		return "other: " + err.Error()
	}
	return "ok"
}
