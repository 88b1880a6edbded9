package service

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group"
	"jackdaw/protocol"
)

// First versions of JoinGroup in which something is known to the client.
const (
	joinRequiresMemberID = 4
	joinProtocolType     = 7
	joinSkipAssignment   = 9
)

// syncProtocolNames is the first version of SyncGroup that must name protocol type and protocol.
const syncProtocolNames = 5

// Join answers JoinGroup 0-9. host is the client's address as Kafka shows it: "/127.0.0.1".
// Kafka: KafkaApis.handleJoinGroupRequest.
func (g *Groups) Join(ctx context.Context, req *kmsg.JoinGroupRequest, clientID, host string) *kmsg.JoinGroupResponse {
	if req.Group == "" {
		return joinResponse(req, group.JoinResult{Err: kerr.InvalidGroupID, MemberID: req.MemberID, Generation: -1})
	}
	r := g.joinRequest(req, clientID, host)
	res, err := call[group.JoinResult](ctx, g, req.Group,
		func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.Join(now, t, r)
		})
	if err != nil {
		res = group.JoinResult{Err: err, MemberID: req.MemberID, Generation: -1}
	}
	return joinResponse(req, res)
}

func (g *Groups) joinRequest(req *kmsg.JoinGroupRequest, clientID, host string) group.JoinRequest {
	r := group.JoinRequest{
		Group:              req.Group,
		MemberID:           req.MemberID,
		InstanceID:         req.InstanceID,
		ClientID:           clientID,
		ClientHost:         host,
		SessionTimeout:     time.Duration(req.SessionTimeoutMillis) * time.Millisecond,
		RebalanceTimeout:   time.Duration(req.RebalanceTimeoutMillis) * time.Millisecond,
		ProtocolType:       req.ProtocolType,
		Protocols:          make([]group.Protocol, len(req.Protocols)),
		RequireKnownMember: req.Version >= joinRequiresMemberID,
		SkipAssignment:     req.Version >= joinSkipAssignment,
		Image:              g.image(),
	}
	if req.Version == 0 || req.RebalanceTimeoutMillis < 0 {
		r.RebalanceTimeout = r.SessionTimeout
	}
	if req.MemberID == "" {
		r.RandomID = g.cfg.NewMemberID()
	}
	for i, p := range req.Protocols {
		// A copy: the metadata aliases the request's frame.
		r.Protocols[i] = group.Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)}
	}
	return r
}

func joinResponse(req *kmsg.JoinGroupRequest, res group.JoinResult) *kmsg.JoinGroupResponse {
	resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
	resp.ErrorCode = protocol.ErrorCode(res.Err)
	resp.MemberID = res.MemberID
	resp.Generation = res.Generation
	resp.ProtocolType, resp.Protocol = res.ProtocolType, res.Protocol
	if resp.Protocol == nil && req.Version < joinProtocolType {
		resp.Protocol = new(string)
	}
	resp.LeaderID = res.Leader
	resp.SkipAssignment = res.SkipAssignment
	resp.Members = make([]kmsg.JoinGroupResponseMember, len(res.Members))
	for i, m := range res.Members {
		resp.Members[i] = kmsg.JoinGroupResponseMember{MemberID: m.MemberID, InstanceID: m.InstanceID, ProtocolMetadata: m.Metadata}
	}
	return resp
}

// Sync answers SyncGroup 0-5. While the group loads the rebalance that the client takes part in is lost: it is sent back to
// JoinGroup without a search for the coordinator. Kafka: GroupCoordinator.handleSyncGroup.
func (g *Groups) Sync(ctx context.Context, req *kmsg.SyncGroupRequest) *kmsg.SyncGroupResponse {
	res, err := g.sync(ctx, req)
	switch {
	case errors.Is(err, kerr.CoordinatorLoadInProgress):
		res.Err = kerr.RebalanceInProgress
	case err != nil:
		res.Err = err
	}
	resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
	resp.ErrorCode = protocol.ErrorCode(res.Err)
	resp.ProtocolType, resp.Protocol = res.ProtocolType, res.Protocol
	resp.MemberAssignment = res.Assignment
	if resp.MemberAssignment == nil {
		resp.MemberAssignment = []byte{}
	}
	return resp
}

func (g *Groups) sync(ctx context.Context, req *kmsg.SyncGroupRequest) (group.SyncResult, error) {
	if req.Version >= syncProtocolNames && (req.ProtocolType == nil || req.Protocol == nil) {
		return group.SyncResult{}, kerr.InconsistentGroupProtocol
	}
	if req.Group == "" {
		return group.SyncResult{}, kerr.InvalidGroupID
	}
	r := group.SyncRequest{
		Group: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation,
		ProtocolType: req.ProtocolType, Protocol: req.Protocol,
		Assignments: make(map[string][]byte, len(req.GroupAssignment)),
	}
	for _, a := range req.GroupAssignment {
		r.Assignments[a.MemberID] = bytes.Clone(a.MemberAssignment)
	}
	return call[group.SyncResult](ctx, g, req.Group,
		func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.Sync(now, t, r)
		})
}

// Heartbeat answers Heartbeat 0-4. While the group loads every heartbeat is good. Kafka: GroupCoordinator.handleHeartbeat.
func (g *Groups) Heartbeat(ctx context.Context, req *kmsg.HeartbeatRequest) *kmsg.HeartbeatResponse {
	resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
	if req.Group == "" {
		resp.ErrorCode = protocol.ErrorCode(kerr.InvalidGroupID)
		return resp
	}
	r := group.MemberRequest{Group: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation}
	res, err := call[group.Result](ctx, g, req.Group,
		func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.Heartbeat(now, t, r)
		})
	if err != nil && !errors.Is(err, kerr.CoordinatorLoadInProgress) {
		res.Err = err
	}
	resp.ErrorCode = protocol.ErrorCode(res.Err)
	return resp
}

// leaveMany is the first version of LeaveGroup with a list of members, and errors for each.
const leaveMany = 3

// Leave answers LeaveGroup 0-5. Kafka: KafkaApis.handleLeaveGroupRequest.
func (g *Groups) Leave(ctx context.Context, req *kmsg.LeaveGroupRequest) *kmsg.LeaveGroupResponse {
	members := []group.LeavingMember{{MemberID: req.MemberID}}
	if req.Version >= leaveMany {
		members = make([]group.LeavingMember, len(req.Members))
		for i, m := range req.Members {
			members[i] = group.LeavingMember{MemberID: m.MemberID, InstanceID: m.InstanceID}
		}
	}
	resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	var errs []error
	var err error = kerr.InvalidGroupID
	if req.Group != "" {
		errs, err = call[[]error](ctx, g, req.Group,
			func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
				return s.Leave(now, t, req.Group, members)
			})
	}
	switch {
	case err != nil:
		resp.ErrorCode = protocol.ErrorCode(err)
	case req.Version < leaveMany:
		resp.ErrorCode = protocol.ErrorCode(errs[0])
	default:
		resp.Members = leaveMembers(members, errs)
	}
	return resp
}

func leaveMembers(members []group.LeavingMember, errs []error) []kmsg.LeaveGroupResponseMember {
	out := make([]kmsg.LeaveGroupResponseMember, len(members))
	for i, m := range members {
		out[i] = kmsg.LeaveGroupResponseMember{MemberID: m.MemberID, InstanceID: m.InstanceID, ErrorCode: protocol.ErrorCode(errs[i])}
	}
	return out
}
