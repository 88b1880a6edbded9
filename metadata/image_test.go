package metadata

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func part(leader BrokerID, epoch LeaderEpoch) Partition {
	return Partition{LeaderAndISR: LeaderAndISR{Leader: leader, LeaderEpoch: epoch, ISR: []BrokerID{leader}}, Replicas: []BrokerID{leader}}
}

func id(n byte) TopicID { return TopicID{15: n} }

func update(brokers []BrokerID, topics ...Topic) Update {
	u := Update{Controller: 1, ControllerEpoch: 1, Topics: topics}
	for _, b := range brokers {
		u.Brokers = append(u.Brokers, Broker{ID: b})
	}
	return u
}

func TestImageApply_OldImage_StaysAsItWas(t *testing.T) {
	first := NewImage().Apply(update([]BrokerID{1, 2}, Topic{Name: "a", ID: id(1), Partitions: map[int32]Partition{0: part(1, 0)}}))
	second := first.Apply(update([]BrokerID{2}, Topic{Name: "a", ID: id(1), Partitions: map[int32]Partition{0: part(2, 1), 1: part(2, 0)}}))

	if p, _ := first.Partition(TopicPartition{"a", 0}); p.Leader != 1 {
		t.Errorf("leader in the old image: got %d, want 1", p.Leader)
	}
	if !first.IsAlive(1) || second.IsAlive(1) {
		t.Errorf("broker 1 alive: got %v then %v, want true then false", first.IsAlive(1), second.IsAlive(1))
	}
	if p, _ := second.Partition(TopicPartition{"a", 0}); p.Leader != 2 || p.LeaderEpoch != 1 {
		t.Errorf("leader in the new image: got %d epoch %d, want 2 epoch 1", p.Leader, p.LeaderEpoch)
	}
}

func TestImageApply_PartitionsNotNamed_Stay(t *testing.T) {
	m := NewImage().Apply(update([]BrokerID{1}, Topic{Name: "a", ID: id(1), Partitions: map[int32]Partition{0: part(1, 0), 1: part(1, 0)}}))
	m = m.Apply(update([]BrokerID{1}, Topic{Name: "a", ID: id(1), Partitions: map[int32]Partition{1: part(1, 5)}}))

	if _, ok := m.Partition(TopicPartition{"a", 0}); !ok {
		t.Error("partition 0 went away with an update of partition 1")
	}
}

func TestImageApply_TopicBeingDeleted_GoesWithItsID(t *testing.T) {
	m := NewImage().Apply(update([]BrokerID{1}, Topic{Name: "a", ID: id(1), Partitions: map[int32]Partition{0: part(1, 0), 1: part(1, 0)}}))
	deleted := part(LeaderDuringDelete, 0)
	m = m.Apply(update([]BrokerID{1}, Topic{Name: "a", ID: id(1), Partitions: map[int32]Partition{0: deleted}}))
	if _, ok := m.Topic("a"); !ok {
		t.Fatal("the topic went with the first of two partitions")
	}
	m = m.Apply(update([]BrokerID{1}, Topic{Name: "a", ID: id(1), Partitions: map[int32]Partition{1: deleted}}))
	if _, ok := m.Topic("a"); ok {
		t.Error("the topic is there without partitions")
	}
	if _, ok := m.TopicByID(id(1)); ok {
		t.Error("the id still leads to the topic")
	}
}

func TestImageApply_TopicRecreated_HasOnlyTheNewIDAndPartitions(t *testing.T) {
	m := NewImage().Apply(update([]BrokerID{1}, Topic{Name: "a", ID: id(1), Partitions: map[int32]Partition{0: part(1, 7), 1: part(1, 7)}}))
	m = m.Apply(update([]BrokerID{1}, Topic{Name: "a", ID: id(2), Partitions: map[int32]Partition{0: part(1, 0)}}))

	topic, ok := m.TopicByID(id(2))
	if !ok || len(topic.Partitions) != 1 {
		t.Errorf("topic of the new id: got %v, want one partition", topic)
	}
	if _, ok := m.TopicByID(id(1)); ok {
		t.Error("the old id still leads to the topic")
	}
}

func TestImageApply_ControllerWithoutTopicIDs_KeepsTheKnownOne(t *testing.T) {
	m := NewImage().Apply(update([]BrokerID{1}, Topic{Name: "a", ID: id(1), Partitions: map[int32]Partition{0: part(1, 0)}}))
	m = m.Apply(update([]BrokerID{1}, Topic{Name: "a", Partitions: map[int32]Partition{0: part(1, 1)}}))

	if topic, ok := m.TopicByID(id(1)); !ok || topic.Partitions[0].LeaderEpoch != 1 {
		t.Errorf("topic by id: got %v, want epoch 1", topic)
	}
}

func TestImage_Lists_AreSorted(t *testing.T) {
	m := NewImage().Apply(update([]BrokerID{3, 1, 2},
		Topic{Name: "b", Partitions: map[int32]Partition{0: part(1, 0)}}, Topic{Name: "a", Partitions: map[int32]Partition{0: part(1, 0)}}))

	if got, want := m.TopicNames(), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("topics: got %v, want %v", got, want)
	}
	var ids []BrokerID
	for _, b := range m.Brokers() {
		ids = append(ids, b.ID)
	}
	if want := []BrokerID{1, 2, 3}; !slices.Equal(ids, want) {
		t.Errorf("brokers: got %v, want %v", ids, want)
	}
}

func TestParseTopicID_RoundTrip_IsEqual(t *testing.T) {
	const text = "u6tLvK_hTq-jxMke_mB82Q"
	got, err := ParseTopicID(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, got.String()); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "u6tLvK_hTq-jxMke_mB82", "u6tLvK_hTq-jxMke_mB82Q=", "u6tLvK/hTq-jxMke_mB82Q"} {
		if _, err := ParseTopicID(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
