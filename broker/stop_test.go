package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

func TestControlledShutdown_WhoElseCouldLead(t *testing.T) {
	image := metadata.NewImage().Apply(metadata.Update{
		Brokers: []metadata.Broker{{ID: 1}, {ID: 2}},
		Topics: []metadata.Topic{{Name: "t", Partitions: map[int32]metadata.Partition{
			0: {Replicas: []metadata.BrokerID{1, 2}},
			1: {Replicas: []metadata.BrokerID{1, 3}},
			2: {Replicas: []metadata.BrokerID{1, 3, 4}},
		}}},
	})
	for _, tt := range []struct {
		name      string
		remaining []int32
		want      bool
	}{
		{"all others are dead", []int32{1, 2}, false},
		{"one other lives", []int32{1, 0}, true},
		{"a partition that is not known yet", []int32{9}, true},
		{"nothing is left", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var remaining []kmsg.ControlledShutdownResponsePartitionsRemaining
			for _, p := range tt.remaining {
				remaining = append(remaining, kmsg.ControlledShutdownResponsePartitionsRemaining{Topic: "t", Partition: p})
			}
			if got := anyOther(image, 1, remaining); got != tt.want {
				t.Errorf("%t, want %t", got, tt.want)
			}
		})
	}
}
