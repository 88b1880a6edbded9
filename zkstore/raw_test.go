package zkstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"jackdaw/zkstore"
)

func TestSession_RawOperations_ErrorsAndNullData(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := client(t, e.config())
		ctx := t.Context()
		_, err := s.Create(ctx, "/a", nil, zkstore.Persistent)
		must(t, err)
		if data, _, err := s.Get(ctx, "/a"); err != nil || data != nil {
			t.Errorf("null data: %q, %v", data, err)
		}
		st, err := s.Set(ctx, "/a", []byte{}, 0)
		if err != nil || st.Version != 1 {
			t.Errorf("set: %+v, %v", st, err)
		}
		if data, _, err := s.Get(ctx, "/a"); err != nil || data == nil || len(data) != 0 {
			t.Errorf("empty data: %v, %v", data, err)
		}
		eph, err := s.Create(ctx, "/a/e", []byte("x"), zkstore.Ephemeral)
		if err != nil || eph != "/a/e" {
			t.Errorf("ephemeral: %q, %v", eph, err)
		}
		if _, st, err := s.Get(ctx, "/a/e"); err != nil || st.EphemeralOwner != s.ID() {
			t.Errorf("owner: %+v, %v", st, err)
		}
		for _, tt := range []struct {
			name string
			err  error
			want error
		}{
			{"create twice", second(s.Create(ctx, "/a", nil, zkstore.Persistent)), zkstore.ErrNodeExists},
			{"create without a parent", second(s.Create(ctx, "/no/b", nil, zkstore.Persistent)), zkstore.ErrNoNode},
			{"create below an ephemeral", second(s.Create(ctx, "/a/e/c", nil, zkstore.Persistent)), zkstore.ErrNoChildrenForEphemerals},
			{"set at a stale version", second(s.Set(ctx, "/a", nil, 0)), zkstore.ErrBadVersion},
			{"set without a node", second(s.Set(ctx, "/b", nil, -1)), zkstore.ErrNoNode},
			{"delete with children", s.Delete(ctx, "/a", -1), zkstore.ErrNotEmpty},
			{"delete at a stale version", s.Delete(ctx, "/a", 0), zkstore.ErrBadVersion},
			{"delete without a node", s.Delete(ctx, "/b", -1), zkstore.ErrNoNode},
		} {
			if !errors.Is(tt.err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestSession_Stat_CountsAsZooKeeper(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := client(t, e.config())
		ctx := t.Context()
		_, err := s.Create(ctx, "/p", []byte("abc"), zkstore.Persistent)
		must(t, err)
		var made []string
		for range 3 {
			p, err := s.Create(ctx, "/p/s-", nil, zkstore.PersistentSequential)
			must(t, err)
			made = append(made, p)
		}
		must(t, s.Delete(ctx, made[1], 0))
		p, err := s.Create(ctx, "/p/s-", nil, zkstore.EphemeralSequential)
		must(t, err)
		if want := "/p/s-0000000003"; p != want || made[2] != "/p/s-0000000002" {
			t.Errorf("sequence: %v %s", made, p)
		}
		_, child, err := s.Get(ctx, p)
		must(t, err)
		_, st, err := s.Get(ctx, "/p")
		must(t, err)
		got := fmt.Sprintf("version=%d cversion=%d aversion=%d len=%d kids=%d pzxid-is-last-child=%v mzxid-is-czxid=%v",
			st.Version, st.CVersion, st.AVersion, st.DataLength, st.NumChildren, st.PZxid == child.CZxid, st.MZxid == st.CZxid)
		const want = "version=0 cversion=5 aversion=0 len=3 kids=3 pzxid-is-last-child=true mzxid-is-czxid=true"
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestSession_Multi_AllOrNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := client(t, e.config())
		ctx := t.Context()
		res, err := s.Multi(ctx, zkstore.CreateOp("/m", nil, zkstore.Persistent), zkstore.CreateOp("/m/k", []byte("1"), zkstore.Persistent),
			zkstore.SetOp("/m", []byte("2"), 0), zkstore.CheckOp("/m", 1), zkstore.DeleteOp("/m/k", 0))
		must(t, err)
		if res[0].Path != "/m" || res[2].Stat.Version != 1 {
			t.Errorf("results: %+v", res)
		}
		res, err = s.Multi(ctx, zkstore.CreateOp("/m/x", nil, zkstore.Persistent), zkstore.SetOp("/m", nil, 0), zkstore.DeleteOp("/m", -1))
		if !errors.Is(err, zkstore.ErrBadVersion) || len(res) != 3 {
			t.Fatalf("%+v, %v", res, err)
		}
		for i, want := range []error{zkstore.ErrRolledBack, zkstore.ErrBadVersion, zkstore.ErrRolledBack} {
			if !errors.Is(res[i].Err, want) {
				t.Errorf("result %d: %v, want %v", i, res[i].Err, want)
			}
		}
		kids, st, err := s.Children(ctx, "/m")
		if err != nil || len(kids) != 0 || st.Version != 1 {
			t.Errorf("a failed multi left %v, %+v, %v", kids, st, err)
		}
	})
}

func TestSession_Pipelined_ManyAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := client(t, e.config())
		ctx := t.Context()
		_, err := s.Create(ctx, "/many", nil, zkstore.Persistent)
		must(t, err)
		groups, paths := make([][]zkstore.Op, 500), make([]string, 501)
		for i := range groups {
			paths[i] = fmt.Sprintf("/many/%d", i)
			groups[i] = []zkstore.Op{zkstore.CreateOp(paths[i], []byte(paths[i]), zkstore.Persistent)}
		}
		paths[500] = "/many/none"
		res, err := s.DoMany(ctx, groups)
		must(t, err)
		for i, r := range res {
			must(t, r.Err)
			if r.Ops[0].Path != paths[i] {
				t.Errorf("group %d made %s", i, r.Ops[0].Path)
			}
		}
		got, err := s.GetMany(ctx, paths)
		must(t, err)
		for i, r := range got[:500] {
			if r.Err != nil || string(r.Data) != paths[i] {
				t.Errorf("%s: %q, %v", paths[i], r.Data, r.Err)
			}
		}
		if !errors.Is(got[500].Err, zkstore.ErrNoNode) {
			t.Errorf("missing node: %v", got[500].Err)
		}
	})
}

func TestSession_TooLarge_ErrorAndSessionLives(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		cfg := e.config()
		_, s := client(t, cfg)
		ctx := t.Context()
		_, err := s.Create(ctx, "/big", nil, zkstore.Persistent)
		must(t, err)
		if _, err := s.Set(ctx, "/big", make([]byte, 1<<20), -1); !errors.Is(err, zkstore.ErrTooLarge) {
			t.Errorf("above our limit: %v", err)
		}
		cfg.MaxRequestBytes = 1400 << 10 // more than the server takes
		_, loose := client(t, cfg)
		if _, err := loose.Set(ctx, "/big", make([]byte, 1300<<10), -1); !errors.Is(err, zkstore.ErrTooLarge) {
			t.Errorf("above the server's limit: %v", err)
		}
		want := bytes.Repeat([]byte("x"), 1000<<10)
		_, err = loose.Set(ctx, "/big", want, -1)
		must(t, err)
		if got, _, err := s.Get(ctx, "/big"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}
