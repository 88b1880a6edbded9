//go:build compat

package compat

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// member is a group member made of raw requests on a connection of its own. It sends no heartbeats unless told to.
type member struct {
	conn       *wire.Conn
	group      string
	id         string
	instance   string // static members
	generation int32
	protocols  []string
	last       *kmsg.JoinGroupResponse
	metadata   []byte
	session    int32 // ms
	rebalance  int32 // ms
}

// coordinator finds a group's coordinator, waiting until its offsets topic is there.
func coordinator(t *testing.T, c *cluster.Cluster, group string) *cluster.Broker {
	t.Helper()
	var id int32
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = group, []string{group}
	cluster.Eventually(t, 30*time.Second, "coordinator of "+group, func() error {
		r, err := wire.Ask[*kmsg.FindCoordinatorResponse](c.Broker(c.Running()[0]).Addr(), req, 4)
		if err != nil {
			return err
		}
		if code := r.Coordinators[0].ErrorCode; code != 0 {
			return kerr.ErrorForCode(code)
		}
		id = r.Coordinators[0].NodeID
		// It may still load the partition.
		h, err := wire.Ask[*kmsg.HeartbeatResponse](c.Broker(int(id)).Addr(), wire.NewHeartbeat(group, "nobody", 1), 4)
		if err != nil {
			return err
		}
		if h.ErrorCode != kerr.UnknownMemberID.Code {
			return fmt.Errorf("heartbeat of nobody: error %d", h.ErrorCode)
		}
		return nil
	})
	return c.Broker(int(id))
}

// newMember opens a connection to the group's coordinator; the member joins by join.
func newMember(t *testing.T, c *cluster.Cluster, group string) *member {
	t.Helper()
	return &member{
		conn: dial(t, coordinator(t, c, group).Addr()), group: group, protocols: []string{"range"},
		metadata: subscription("t"), session: 10000, rebalance: 10000,
	}
}

// subscription is a consumer's member metadata.
func subscription(topics ...string) []byte {
	s := kmsg.NewConsumerMemberMetadata()
	s.Topics = topics
	return s.AppendTo(nil)
}

// request is the JoinGroup that the member would send now.
func (m *member) request() *kmsg.JoinGroupRequest {
	req := wire.NewJoin(m.group, m.id, m.protocols...)
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = m.session, m.rebalance
	for i := range req.Protocols {
		req.Protocols[i].Metadata = m.metadata
	}
	if m.instance != "" {
		req.InstanceID = &m.instance
	}
	return req
}

// tryJoin joins at v7, with the second round when an id is given, and returns the error code.
func (m *member) tryJoin(t *testing.T) int16 {
	t.Helper()
	for range 2 {
		r, err := m.conn.Do(m.request(), 7)
		if err != nil {
			t.Fatalf("join %s: %v", m.group, err)
		}
		m.last = r.(*kmsg.JoinGroupResponse)
		if m.last.ErrorCode != kerr.MemberIDRequired.Code {
			break
		}
		m.id = m.last.MemberID
	}
	if m.last.ErrorCode == 0 {
		m.id, m.generation = m.last.MemberID, m.last.Generation
	}
	return m.last.ErrorCode
}

// join must succeed; a coordinator that loads its partition, or whose disk is slow, is asked again as clients do.
func (m *member) join(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, 30*time.Second, "join "+m.group, func() error {
		code := m.tryJoin(t)
		if code == 0 || code == kerr.CoordinatorNotAvailable.Code || code == kerr.CoordinatorLoadInProgress.Code {
			return kerr.ErrorForCode(code)
		}
		return cluster.Stop(kerr.ErrorForCode(code))
	})
}

// leads says whether the member was made leader of the generation it joined last.
func (m *member) leads() bool { return m.last.LeaderID == m.id }

// joining is a JoinGroup that was sent and not answered yet.
type joining struct {
	m   *member
	req *kmsg.JoinGroupRequest
	id  int32
}

// startJoin sends JoinGroup v7 without waiting; the member has its id already (or is static).
func (m *member) startJoin(t *testing.T) joining {
	t.Helper()
	req := m.request()
	id, err := m.conn.WriteRequest(req, 7)
	if err != nil {
		t.Fatal(err)
	}
	return joining{m, req, id}
}

// finish reads the answer and returns its error code.
func (j joining) finish(t *testing.T, limit time.Duration) int16 {
	t.Helper()
	r, err := j.m.conn.ReadResponse(j.req, j.id, limit)
	if err != nil {
		t.Fatalf("join %s: %v", j.m.group, err)
	}
	j.m.last = r.(*kmsg.JoinGroupResponse)
	if j.m.last.ErrorCode == 0 {
		j.m.id, j.m.generation = j.m.last.MemberID, j.m.last.Generation
	}
	return j.m.last.ErrorCode
}

// getID asks for a member id without joining.
func (m *member) getID(t *testing.T) {
	t.Helper()
	r, err := m.conn.Do(m.request(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if j := r.(*kmsg.JoinGroupResponse); j.ErrorCode != kerr.MemberIDRequired.Code {
		t.Fatalf("join without an id: %v, want MEMBER_ID_REQUIRED", kerr.ErrorForCode(j.ErrorCode))
	}
	m.id = r.(*kmsg.JoinGroupResponse).MemberID
}

// sync sends SyncGroup v5 with assignments (the leader's) and returns the answer.
func (m *member) sync(t *testing.T, assignments map[string][]byte) *kmsg.SyncGroupResponse {
	t.Helper()
	req := wire.NewSync(m.group, m.id, m.generation, deref(m.last.Protocol), assignments)
	if m.instance != "" {
		req.InstanceID = &m.instance
	}
	r, err := m.conn.Do(req, 5)
	if err != nil {
		t.Fatalf("sync %s: %v", m.group, err)
	}
	return r.(*kmsg.SyncGroupResponse)
}

// syncAll is the leader's sync that gives every member its own id as assignment.
func (m *member) syncAll(t *testing.T) {
	t.Helper()
	assignments := map[string][]byte{}
	for _, other := range m.last.Members {
		assignments[other.MemberID] = []byte(other.MemberID)
	}
	if r := m.sync(t, assignments); r.ErrorCode != 0 {
		t.Fatalf("sync %s: %v", m.group, kerr.ErrorForCode(r.ErrorCode))
	}
}

// heartbeat returns the error code.
func (m *member) heartbeat(t *testing.T) int16 {
	t.Helper()
	req := wire.NewHeartbeat(m.group, m.id, m.generation)
	if m.instance != "" {
		req.InstanceID = &m.instance
	}
	r, err := m.conn.Do(req, 4)
	if err != nil {
		t.Fatalf("heartbeat %s: %v", m.group, err)
	}
	return r.(*kmsg.HeartbeatResponse).ErrorCode
}

// waitHeartbeat sends heartbeats until one has the code.
func (m *member) waitHeartbeat(t *testing.T, want int16, limit time.Duration) {
	t.Helper()
	cluster.Eventually(t, limit, fmt.Sprintf("heartbeat with error %d", want), func() error {
		if code := m.heartbeat(t); code != want {
			return fmt.Errorf("error %d", code)
		}
		return nil
	})
}

// leave must succeed.
func (m *member) leave(t *testing.T) {
	t.Helper()
	r, err := m.conn.Do(wire.NewLeave(m.group, m.id), 4)
	if err != nil {
		t.Fatalf("leave %s: %v", m.group, err)
	}
	l := r.(*kmsg.LeaveGroupResponse)
	if l.ErrorCode != 0 || l.Members[0].ErrorCode != 0 {
		t.Fatalf("leave %s: error %d, member %d", m.group, l.ErrorCode, l.Members[0].ErrorCode)
	}
}

// describe returns a group's description from its coordinator.
func describe(t *testing.T, c *cluster.Cluster, group string) kmsg.DescribeGroupsResponseGroup {
	t.Helper()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	return ask[*kmsg.DescribeGroupsResponse](t, coordinator(t, c, group).Addr(), req, 5).Groups[0]
}

// waitGroupState waits until a group is in a state with a number of members.
func waitGroupState(t *testing.T, c *cluster.Cluster, group, state string, members int, limit time.Duration) {
	t.Helper()
	cluster.Eventually(t, limit, "group "+group, func() error {
		if d := describe(t, c, group); d.State != state || len(d.Members) != members {
			return fmt.Errorf("%s with %d members, want %s with %d", d.State, len(d.Members), state, members)
		}
		return nil
	})
}
