package zkstore_test

import (
	"testing"
	"time"

	"jackdaw/metadata"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

func TestClient_Start_BrokerComesUpFast(t *testing.T) {
	addr := embedded(t)
	begin := time.Now()
	_, s := client(t, zkstore.Config{Servers: []string{addr}})
	ctx := t.Context()
	if err := s.EnsurePersistentPaths(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ClusterID(ctx); err != nil {
		t.Fatal(err)
	}
	info := znode.BrokerInfo{Broker: metadata.Broker{ID: 1, Endpoints: []metadata.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "h", Port: 1}}}, JMXPort: -1}
	epoch, err := s.RegisterBroker(ctx, info)
	if err != nil || epoch <= 0 {
		t.Fatalf("epoch %d, %v", epoch, err)
	}
	e, won, who, err := s.ElectController(ctx, 1)
	if err != nil || !won || who != 1 || e.Epoch != 1 || e.EpochZKVersion != 1 {
		t.Fatalf("%+v %v %v %v", e, won, who, err)
	}
	t.Logf("session, registration and election: %v", time.Since(begin))
}
