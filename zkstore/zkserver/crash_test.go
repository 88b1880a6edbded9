package zkserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"jackdaw/internal/vfs"
	"jackdaw/zkstore/zkserver"
)

// nodesOf opens a file system as a new process would and returns how many of the nodes /n0, /n1, ... there are without a
// gap, and the data of /set.
func nodesOf(t *testing.T, fsys vfs.FS) (count int, set string) {
	t.Helper()
	s := start(t, zkserver.Options{FS: fsys, Dir: "/zk", NoSync: true})
	c := dial(t, s)
	kids, _, err := c.Children("/")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, k := range kids {
		have[k] = true
	}
	for have[fmt.Sprintf("n%d", count)] {
		count++
	}
	for k := range have {
		if strings.HasPrefix(k, "n") && len(have) != count+2 { // and /zookeeper, /set
			t.Fatalf("gap after n%d: %v", count, kids)
		}
	}
	data, _, err := c.Get("/set")
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	return count, string(data)
}

// workload writes nodes one after the other until it fails, and counts what was answered.
func workload(c *zk.Conn, n int, answered *atomic.Int64) error {
	acl := zk.WorldACL(zk.PermAll)
	if _, err := c.Create("/set", nil, 0, acl); err != nil {
		return err
	}
	for i := range n {
		_, err := c.Multi(&zk.CreateRequest{Path: fmt.Sprintf("/n%d", i), Acl: acl},
			&zk.SetDataRequest{Path: "/set", Data: []byte(fmt.Sprint(i + 1)), Version: int32(i)})
		if err != nil {
			return err
		}
		answered.Store(int64(i + 1))
	}
	return nil
}

// Power may be cut before any operation on the disk, and what was written but not synced may be there in part.
func TestServer_PowerCutAnywhere_WhatWasAnsweredIsThere(t *testing.T) {
	type moment struct {
		fs       *vfs.Mem
		answered int64
	}
	var mu sync.Mutex
	var moments []moment
	var answered atomic.Int64
	var fsys *vfs.Mem
	half := func(_ string, synced, current []byte) []byte {
		n := min(len(synced), len(current))
		return current[:n+(len(current)-n)/2]
	}
	scramble := func(_ string, synced, current []byte) []byte {
		b := append([]byte(nil), current...)
		for i := len(synced) + 5; i < len(b); i++ {
			b[i] = 0
		}
		return b
	}
	step := 0
	fault := func(vfs.Op, string) error {
		mu.Lock()
		defer mu.Unlock()
		if fsys == nil {
			return nil
		}
		keep := []func(string, []byte, []byte) []byte{nil, half, scramble}[step%3]
		step++
		moments = append(moments, moment{fsys.CrashClone(keep), answered.Load()})
		return nil
	}
	m := vfs.NewMem(fault)
	mu.Lock()
	fsys = m
	mu.Unlock()
	// A snapshot every few writes, so that rotation and purge are cut, too.
	s := start(t, zkserver.Options{FS: m, Dir: "/zk", SnapshotBytes: 700})
	if err := workload(dial(t, s), 40, &answered); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	fsys = nil
	all := moments
	mu.Unlock()
	for i, at := range all {
		count, set := nodesOf(t, at.fs)
		if int64(count) < at.answered || count > 0 && set != fmt.Sprint(count) {
			t.Errorf("cut %d: %d were answered, there are %d, /set is %q", i, at.answered, count, set)
		}
	}
	t.Logf("%d cuts", len(all))
}

func TestServer_Killed_SessionsAndEphemeralsSurvive(t *testing.T) {
	m := vfs.NewMem(nil)
	s := start(t, zkserver.Options{FS: m, Dir: "/zk"})
	r := dialRaw(t, s.Addr())
	sess, _ := r.connect(0, 30000, session{})
	if code, _ := r.call(1, msg{}.str("/e").str("x").acl().i32(1)); code != 0 {
		t.Fatal(code)
	}
	again := start(t, zkserver.Options{FS: m.KillClone(), Dir: "/zk"})
	r = dialRaw(t, again.Addr())
	if got, ok := r.connect(2, 30000, sess); !ok || got != sess {
		t.Fatalf("came back as %+v", got)
	}
	if code, _ := r.call(3, msg{}.str("/e").bool(false)); code != 0 {
		t.Errorf("ephemeral node: %d", code)
	}
	if fresh, _ := dialRaw(t, again.Addr()).connect(0, 30000, session{}); fresh.id <= sess.id {
		t.Errorf("session %x after %x", fresh.id, sess.id)
	}
}

func TestServer_Rotation_OldFilesGoAndRestartIsWhole(t *testing.T) {
	m := vfs.NewMem(nil)
	o := zkserver.Options{FS: m, Dir: "/zk", SnapshotBytes: 2000}
	s, err := zkserver.Open(withAddr(o))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	var answered atomic.Int64
	c := dial(t, s)
	if err := workload(c, 400, &answered); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), <-done); err != nil {
		t.Fatal(err)
	}
	entries, err := m.ReadDir("/zk")
	if err != nil {
		t.Fatal(err)
	}
	snapshots, journals := 0, 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name, "snapshot.") {
			snapshots++
		}
		if strings.HasPrefix(e.Name, "journal.") {
			journals++
		}
	}
	if snapshots != 3 || journals > 6 {
		t.Errorf("%d snapshots, %d journals", snapshots, journals)
	}
	if count, set := nodesOf(t, m.KillClone()); count != 400 || set != "400" {
		t.Errorf("after the restart %d nodes, /set is %q", count, set)
	}
	// A snapshot that cannot be read costs nothing: the one before and the journals have all.
	clone := m.KillClone()
	spoil(t, clone, "/zk/"+lastWith(entries, "snapshot."), 20)
	if count, _ := nodesOf(t, clone); count != 400 {
		t.Errorf("without the newest snapshot %d nodes", count)
	}
}

func withAddr(o zkserver.Options) zkserver.Options {
	o.Addr = "127.0.0.1:0"
	return o
}

func lastWith(entries []vfs.Entry, prefix string) string {
	last := ""
	for _, e := range entries {
		if strings.HasPrefix(e.Name, prefix) {
			last = max(last, e.Name)
		}
	}
	return last
}

// spoil turns the bits of one byte.
func spoil(t *testing.T, fsys vfs.FS, name string, pos int64) {
	t.Helper()
	f, err := fsys.OpenFile(name, vfs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, pos); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0xff
	if _, err := f.WriteAt(b, pos); err != nil {
		t.Fatal(err)
	}
}

func TestOpen_JournalDamagedInside_RefusesWithPlace(t *testing.T) {
	m := vfs.NewMem(nil)
	s := start(t, zkserver.Options{FS: m, Dir: "/zk"})
	var answered atomic.Int64
	if err := workload(dial(t, s), 10, &answered); err != nil {
		t.Fatal(err)
	}
	for _, pos := range []int64{8, 13, 40, 200} {
		clone := m.KillClone()
		spoil(t, clone, "/zk/journal.0000000000000001", pos)
		_, err := zkserver.Open(withAddr(zkserver.Options{FS: clone, Dir: "/zk"}))
		var ce *zkserver.CorruptError
		if !errors.As(err, &ce) || !strings.Contains(err.Error(), "journal.0000000000000001") {
			t.Errorf("damage at %d: %v", pos, err)
		}
	}
}

func TestOpen_DirectoryInUse_Refused(t *testing.T) {
	m := vfs.NewMem(nil)
	start(t, zkserver.Options{FS: m, Dir: "/zk"})
	if _, err := zkserver.Open(withAddr(zkserver.Options{FS: m, Dir: "/zk"})); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("got %v", err)
	}
}

func TestRun_DiskFails_ServerStopsAndNothingIsAnswered(t *testing.T) {
	full := errors.New("no space left on device")
	var broken atomic.Bool
	m := vfs.NewMem(func(op vfs.Op, _ string) error {
		if broken.Load() && op == vfs.OpWrite {
			return full
		}
		return nil
	})
	s, err := zkserver.Open(withAddr(zkserver.Options{FS: m, Dir: "/zk"}))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	r := connected(t, s)
	broken.Store(true)
	if code, _ := r.call(1, msg{}.str("/a").i32(-1).acl().i32(0)); code != -4 {
		t.Errorf("a write that was not kept got code %d", code)
	}
	if err := <-done; !errors.Is(err, full) {
		t.Errorf("run: %v", err)
	}
	_ = s.Close()
}

func TestServer_OnRealDisk_ReopensWithData(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		s, err := zkserver.Open(withAddr(zkserver.Options{Dir: dir}))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- s.Run(context.Background()) }()
		c := dial(t, s)
		if _, err := c.Create(fmt.Sprintf("/r%d", i), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		kids, _, err := c.Children("/")
		if err != nil || len(kids) != i+2 {
			t.Errorf("start %d: %v %v", i, kids, err)
		}
		c.Close()
		if err := errors.Join(s.Close(), s.Close(), <-done); err != nil {
			t.Fatal(err)
		}
	}
}
