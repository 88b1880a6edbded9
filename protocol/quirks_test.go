package protocol

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestStopReplicaV4_FieldOrder_IsKafkas holds the body that Apache Kafka 3.9.2 sends: the KRaft flag before the epoch.
func TestStopReplicaV4_FieldOrder_IsKafkas(t *testing.T) {
	body := []byte{
		0, 0, 0, 1, // controller id
		0,          // isKRaftController
		0, 0, 0, 9, // controller epoch
		0, 0, 0, 0, 0, 0, 0, 31, // broker epoch
		1, // no topics
		0, // no tags
	}
	want := bytes.Clone(body)
	req, err := DecodeBody(Header{Key: stopReplicaKey, Version: 4}, body)
	if err != nil {
		t.Fatal(err)
	}
	stop := req.(*kmsg.StopReplicaRequest)
	if stop.ControllerID != 1 || stop.ControllerEpoch != 9 || stop.IsKRaftController || stop.BrokerEpoch != 31 {
		t.Errorf("got controller %d epoch %d kraft %v broker epoch %d, want 1, 9, false, 31",
			stop.ControllerID, stop.ControllerEpoch, stop.IsKRaftController, stop.BrokerEpoch)
	}
	got := AppendRequest(nil, "", 7, stop)
	if !bytes.HasSuffix(got, want) {
		t.Errorf("encoded again: got % x, want it to end in % x", got, want)
	}
}
