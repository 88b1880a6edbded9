package zkstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

func TestSession_ClientQuotas_AllKindsOfEntities(t *testing.T) {
	e := env{addr: embedded(t)}
	_, s := prepared(t, e.config())
	ctx := t.Context()
	if all, err := s.ClientQuotas(ctx); err != nil || len(all) != 0 {
		t.Fatalf("at first: %v, %v", all, err)
	}
	want := map[string]string{}
	for _, n := range []zkstore.EntityConfigNode{
		{Type: "users", Name: "alice/clients/app"},
		{Type: "users", Name: "b%20c"},
		{Type: "users", Name: znode.DefaultEntity + "/clients/" + znode.DefaultEntity},
		{Type: "clients", Name: znode.DefaultEntity},
		{Type: "ips", Name: "10.0.0.1"},
	} {
		must(t, s.SetEntityConfig(ctx, n.Type, n.Name, map[string]string{"k": n.Name}))
		want[n.Type+"/"+n.Name] = n.Name
	}
	// The users that stand above client ids have nodes, too, without settings.
	want["users/alice"], want["users/"+znode.DefaultEntity] = "", ""
	all, err := s.ClientQuotas(ctx)
	must(t, err)
	got := map[string]string{}
	for _, n := range all {
		got[n.Type+"/"+n.Name] = n.Config["k"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
