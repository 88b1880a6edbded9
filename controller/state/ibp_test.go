package state

import "testing"

func TestIBP_RequestVersions_AsKafkaChoosesThem(t *testing.T) {
	tests := []struct {
		ibp                                string
		leaderAndISR, updateMetadata, stop int16
		ids, recovery                      bool
	}{
		{"3.9-IV0", 7, 8, 4, true, true},
		{"3.9.2", 7, 8, 4, true, true},
		{"3.4", 7, 8, 4, true, true},
		{"3.3-IV3", 6, 7, 3, true, true},
		{"3.1-IV0", 5, 7, 3, true, false},
		{"2.8-IV0", 4, 6, 3, true, false},
		{"2.8-IV1", 5, 7, 3, true, false},
		{"2.7", 4, 6, 3, false, false},
		{"2.4-IV0", 3, 5, 1, false, false},
		{"2.2", 2, 5, 1, false, false},
		{"1.1", 1, 4, 0, false, false},
		{"0.11.0-IV2", 0, 3, 0, false, false},
		{"0.10.2", 0, 3, 0, false, false},
		{"0.10.0-IV0", 0, 1, 0, false, false},
		{"0.9.0", 0, 1, 0, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.ibp, func(t *testing.T) {
			v, err := ParseIBP(tt.ibp)
			if err != nil {
				t.Fatal(err)
			}
			if got := v.leaderAndISRVersion(); got != tt.leaderAndISR {
				t.Errorf("LeaderAndIsr v%d, want v%d", got, tt.leaderAndISR)
			}
			if got := v.updateMetadataVersion(); got != tt.updateMetadata {
				t.Errorf("UpdateMetadata v%d, want v%d", got, tt.updateMetadata)
			}
			if got := v.stopReplicaVersion(); got != tt.stop {
				t.Errorf("StopReplica v%d, want v%d", got, tt.stop)
			}
			if v.TopicIDs() != tt.ids || v.Recovery() != tt.recovery {
				t.Errorf("topic ids %t, recovery %t; want %t, %t", v.TopicIDs(), v.Recovery(), tt.ids, tt.recovery)
			}
		})
	}
}

func TestParseIBP_NotAVersion_Refused(t *testing.T) {
	for _, s := range []string{"", "3", "x.y", "3.9-IVx"} {
		if v, err := ParseIBP(s); err == nil {
			t.Errorf("%q was read as %+v", s, v)
		}
	}
}

func TestIBP_OfFollowersAndLeaders_AsKafkaChoosesThem(t *testing.T) {
	tests := []struct {
		ibp                          string
		fetch, listOffsets, epochEnd int16
		alterPartition, producerIDs  bool
		markers                      int16
	}{
		{"3.9-IV0", 17, 9, 4, true, true, 1},
		{"3.8", 16, 8, 4, true, true, 1},
		{"3.5-IV0", 14, 8, 4, true, true, 1},
		{"3.0-IV0", 12, 6, 4, true, true, 1},
		{"3.0", 12, 7, 4, true, true, 1},
		{"2.8", 12, 6, 4, true, false, 1},
		{"2.7-IV1", 12, 5, 3, false, false, 0},
		{"2.7", 12, 5, 3, true, false, 0},
		{"2.6", 11, 5, 3, false, false, 0},
		{"2.2", 10, 5, 2, false, false, 0},
		{"2.0", 8, 3, 1, false, false, 0},
		{"1.1", 7, 2, 0, false, false, 0},
		{"0.11.0", 5, 2, 0, false, false, 0},
		{"0.10.2", 4, 1, 0, false, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.ibp, func(t *testing.T) {
			v, err := ParseIBP(tt.ibp)
			if err != nil {
				t.Fatal(err)
			}
			if f, l, e := v.FetchVersion(), v.ListOffsetsVersion(), v.EpochEndVersion(); f != tt.fetch || l != tt.listOffsets || e != tt.epochEnd {
				t.Errorf("Fetch v%d, ListOffsets v%d, OffsetForLeaderEpoch v%d; want v%d, v%d, v%d", f, l, e, tt.fetch, tt.listOffsets, tt.epochEnd)
			}
			if m := v.TxnMarkersVersion(); m != tt.markers {
				t.Errorf("WriteTxnMarkers v%d, want v%d", m, tt.markers)
			}
			if v.AlterPartition() != tt.alterPartition || v.AllocateProducerIDs() != tt.producerIDs {
				t.Errorf("AlterPartition %t, AllocateProducerIds %t; want %t, %t",
					v.AlterPartition(), v.AllocateProducerIDs(), tt.alterPartition, tt.producerIDs)
			}
		})
	}
}
