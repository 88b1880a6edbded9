package service

import "testing"

func TestPartitioner_TopicThere_ItsCountStays(t *testing.T) {
	n := int32(0)
	p := partitioner{configured: 50, actual: func() int32 { return n }}
	if got := p.of("g1"); got != 42 {
		t.Errorf("before the topic is there: %d, want 42", got)
	}
	n = 5
	if got := p.of("g1"); got != 2 {
		t.Errorf("by the topic's count: %d, want 2", got)
	}
	n = 7
	if got := p.of("g1"); got != 2 {
		t.Errorf("after somebody added partitions: %d, want 2", got)
	}
}
