//go:build compat

package compat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jackdaw/compat-tests/cluster"
)

// codecs: what the client compresses is kept as it is, and it reads it back.
func (m *matrix) codecs(t *testing.T) {
	topic := m.name("codecs")
	createTopic(t, m.c, topic, int32(len(codecs)), 3)
	want := map[int32][]string{}
	for p, codec := range codecs {
		tell(t, m.a, "producer", "codec="+codec)
		value := codec + strings.Repeat("-compressible", 40) // librdkafka sends as it is what does not get smaller, as a batch of one short record
		tell(t, m.a, "produce", topic, p, value, 30)
		want[int32(p)] = series(value, 30)
		checkCodecAt(t, m.c, topic, int32(p), codec)
	}
	m.member(t, m.d, m.name("codecs"), topic, lastingSession, m.strategy())
	waitValues(t, "records of all codecs", m.d, want)
	tell(t, m.d, "leave")
}

func (m *matrix) idempotence(t *testing.T) {
	topic := m.name("idempotent")
	createTopic(t, m.c, topic, 1, 3)
	tell(t, m.a, "producer", "idempotent=true")
	tell(t, m.a, "produce", topic, 0, "v", 300)
	checkIdempotent(t, m.c, topic)
	if got := franzRead(t, m.c, topic, 300)[0]; !slices.Equal(got, series("v", 300)) {
		t.Errorf("read back %v", got)
	}
}

// transactions: what was aborted is not read, and who takes the transactional.id fences its last owner.
func (m *matrix) transactions(t *testing.T) {
	topic := m.name("txn")
	createTopic(t, m.c, topic, 1, 3)
	tell(t, m.a, "producer", "txn="+m.name("txn"))
	for _, step := range []struct{ prefix, end string }{{"aborted", "abort-txn"}, {"committed", "commit-txn"}} {
		tell(t, m.a, "begin")
		tell(t, m.a, "produce", topic, 0, step.prefix, 10)
		tell(t, m.a, step.end)
	}
	m.member(t, m.d, m.name("txn"), topic, lastingSession, "strategy=range", "committed=true")
	waitValues(t, "records of transactions", m.d, map[int32][]string{0: series("committed", 10)})

	m.d.Forget()
	m.fence(t, topic)
	waitValues(t, "records of the second producer", m.d, map[int32][]string{0: series("second", 10)})
	tell(t, m.d, "leave")
}

// fence: b takes the transactional.id while a has a transaction open.
func (m *matrix) fence(t *testing.T, topic string) {
	t.Helper()
	tell(t, m.a, "begin")
	tell(t, m.a, "produce", topic, 0, "fenced", 10)
	tell(t, m.b, "producer", "txn="+m.name("txn"))
	tell(t, m.b, "begin")
	if _, err := m.a.Do("commit-txn"); err == nil {
		t.Error("a fenced producer commits")
	}
	tell(t, m.b, "produce", topic, 0, "second", 10)
	tell(t, m.b, "commit-txn")
}

// offsetsInTransactions: the group's offsets move with a commit and stay with an abort. KIP-447, where the client has it.
func (m *matrix) offsetsInTransactions(t *testing.T) {
	topic, group := m.name("codecs"), m.name("txn-offsets")
	m.member(t, m.d, group, topic, lastingSession, "strategy=range")
	waitOwned(t, len(codecs), 60*time.Second, m.d)
	cluster.Eventually(t, 60*time.Second, "records of all codecs", func() error {
		if n := len(m.d.Records()); n != 30*len(codecs) {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	tell(t, m.d, "producer", "txn="+group)
	for _, step := range []struct {
		end string
		at  int64
	}{{"abort-txn", -1}, {"commit-txn", 30}} {
		tell(t, m.d, "begin")
		tell(t, m.d, "produce", m.name("txn"), 0, step.end, 3)
		tell(t, m.d, "send-offsets")
		tell(t, m.d, step.end)
		for p := range codecs {
			m.waitCommitted(t, group, topic, int32(p), step.at)
		}
	}
	tell(t, m.d, "leave")
}

// waitCommitted waits for a group's offset; -1 is none.
func (m *matrix) waitCommitted(t *testing.T, group, topic string, partition int32, want int64) {
	t.Helper()
	adm := admin(t, m.c)
	cluster.Eventually(t, 20*time.Second, "offset of "+group, func() error {
		offsets, err := adm.FetchOffsets(t.Context(), group)
		if err != nil {
			return err
		}
		got := int64(-1)
		if o, ok := offsets.Lookup(topic, partition); ok {
			got = o.At
		}
		if got != want {
			return fmt.Errorf("%d, want %d", got, want)
		}
		return nil
	})
}

// admin: the calls that every client has.
func (m *matrix) admin(t *testing.T) {
	topic := m.name("admin")
	tell(t, m.a, "create", topic, 2, 3)
	waitLeaders(t, m.c, topic, 2)
	tell(t, m.a, "grow", topic, 4)
	waitLeaders(t, m.c, topic, 4)
	if got := tell(t, m.a, "partitions", topic); got != "4" {
		t.Errorf("%s partitions", got)
	}
	tell(t, m.a, "set", topic, "retention.ms", 7_000_000)
	cluster.Eventually(t, 20*time.Second, "retention.ms", func() error {
		if got := tell(t, m.a, "get", topic, "retention.ms"); got != "7000000" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	m.member(t, m.d, m.name("admin"), topic, lastingSession, m.strategy())
	waitOwned(t, 4, 60*time.Second, m.d)
	if got := tell(t, m.a, "group", m.name("admin")); got != "1 1" {
		t.Errorf("members and listings of the group: %s", got)
	}
	tell(t, m.d, "leave")
	tell(t, m.a, "delete", topic)
	cluster.Eventually(t, 20*time.Second, "deletion", func() error {
		if _, err := m.c.Tree.Assignment(topic); err == nil {
			return fmt.Errorf("znode of %s is still there", topic)
		}
		return nil
	})
}
