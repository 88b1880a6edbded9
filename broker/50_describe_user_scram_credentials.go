package broker

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
	"jackdaw/security/acl"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// DescribeUserScramCredentials (50), v0. Kafka: ZkAdminManager.describeUserScramCredentials; KIP-554.
// Pipelined: no.   Cost: a ZooKeeper read a user.
func (b *Broker) handleDescribeUserSCRAMCredentials(r *network.Request) {
	req := r.Body.(*kmsg.DescribeUserSCRAMCredentialsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeUserSCRAMCredentialsResponse)
	if b.refused(r, b.deniedCluster(r, acl.Describe)) {
		return
	}
	results, err := b.describeCredentials(r.Context(), req.Users)
	resp.ErrorCode, resp.ErrorMessage = protocol.ErrorCode(err), errorText(err)
	resp.Results = results
	r.Respond(resp)
}

func (b *Broker) describeCredentials(ctx context.Context, users []kmsg.DescribeUserSCRAMCredentialsRequestUser) ([]kmsg.DescribeUserSCRAMCredentialsResponseResult, error) {
	session := b.zk.Session()
	if session == nil {
		return nil, zkstore.ErrSessionExpired
	}
	if len(users) == 0 {
		return allCredentials(ctx, session)
	}
	seen := countNames(users, func(u *kmsg.DescribeUserSCRAMCredentialsRequestUser) string { return u.Name })
	var out []kmsg.DescribeUserSCRAMCredentialsResponseResult
	for _, u := range users {
		if slices.ContainsFunc(out, func(r kmsg.DescribeUserSCRAMCredentialsResponseResult) bool { return r.User == u.Name }) {
			continue
		}
		result := kmsg.DescribeUserSCRAMCredentialsResponseResult{User: u.Name}
		var err error
		if seen[u.Name] > 1 {
			err = protocol.WithMessage(kerr.DuplicateResource, "Cannot describe SCRAM credentials for the same user twice in a single request: "+u.Name)
		} else {
			result.CredentialInfos, err = credentialsOf(ctx, session, u.Name)
		}
		result.ErrorCode, result.ErrorMessage = protocol.ErrorCode(err), errorText(err)
		out = append(out, result)
	}
	return out, nil
}

func credentialsOf(ctx context.Context, session *zkstore.Session, user string) ([]kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo, error) {
	settings, err := session.EntityConfig(ctx, userEntity, znode.Sanitize(user))
	if err != nil {
		return nil, fmt.Errorf("read user: %w", err)
	}
	infos := credentialInfos(settings)
	if len(infos) == 0 {
		return nil, protocol.WithMessage(kerr.ResourceNotFound, "Attempt to describe a user credential that does not exist: "+user)
	}
	return infos, nil
}

// allCredentials tells about all users that have any.
func allCredentials(ctx context.Context, session *zkstore.Session) ([]kmsg.DescribeUserSCRAMCredentialsResponseResult, error) {
	all, err := session.EntityConfigs(ctx, userEntity)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	var out []kmsg.DescribeUserSCRAMCredentialsResponseResult
	for name, settings := range all {
		if infos := credentialInfos(settings); len(infos) > 0 {
			out = append(out, kmsg.DescribeUserSCRAMCredentialsResponseResult{User: znode.Desanitize(name), ErrorMessage: errorText(nil), CredentialInfos: infos})
		}
	}
	return out, nil
}
