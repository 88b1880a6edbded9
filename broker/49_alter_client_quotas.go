package broker

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/protocol"
	"jackdaw/quota"
	"jackdaw/security/acl"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// AlterClientQuotas (49), v0-1. Kafka: KafkaApis.handleAlterClientQuotasRequest, ZkAdminManager.alterClientQuotas; KIP-546.
// Pipelined: no.   Cost: ZooKeeper reads and writes an entity.
func (b *Broker) handleAlterClientQuotas(r *network.Request) {
	req := r.Body.(*kmsg.AlterClientQuotasRequest)
	resp := req.ResponseKind().(*kmsg.AlterClientQuotasResponse)
	if b.refused(r, b.deniedCluster(r, acl.AlterConfigs)) {
		return
	}
	for i := range req.Entries {
		e := &req.Entries[i]
		err := b.alone(r.Context(), func() error { return b.alterQuotas(r.Context(), e, req.ValidateOnly) })
		out := kmsg.AlterClientQuotasResponseEntry{ErrorCode: protocol.ErrorCode(err), ErrorMessage: protocol.ErrorMessage(err)}
		for _, part := range lastOfEach(e.Entity) {
			out.Entity = append(out.Entity, kmsg.AlterClientQuotasResponseEntryEntity{Type: part.Type, Name: part.Name})
		}
		resp.Entries = append(resp.Entries, out)
	}
	r.Respond(resp)
}

func (b *Broker) alterQuotas(ctx context.Context, e *kmsg.AlterClientQuotasRequestEntry, validateOnly bool) error {
	entityType, name, err := quotaNode(ctx, e.Entity)
	if err != nil {
		return err
	}
	session := b.zk.Session()
	if session == nil {
		return zkstore.ErrSessionExpired
	}
	settings, err := session.EntityConfig(ctx, entityType, name)
	if err != nil {
		return fmt.Errorf("read quotas of %s %s: %w", entityType, name, err)
	}
	for _, op := range e.Ops {
		if op.Remove {
			delete(settings, op.Key)
			continue
		}
		if settings[op.Key], err = quotaText(entityType, op.Key, op.Value); err != nil {
			return err
		}
	}
	if err := config.ValidateQuotas(settings); err != nil || validateOnly {
		return err
	}
	return session.SetEntityConfig(ctx, entityType, name, settings)
}

// quotaNode finds where an entity has its configuration.
func quotaNode(ctx context.Context, parts []kmsg.AlterClientQuotasRequestEntryEntity) (entityType, name string, err error) {
	nodes := map[string]string{}
	for _, p := range parts {
		switch {
		case p.Type != quotaUser && p.Type != quotaClient && p.Type != quotaIP:
			return "", "", invalidRequest("Unhandled client quota entity type: %s", p.Type)
		case p.Name == nil:
			nodes[p.Type] = znode.DefaultEntity
		case *p.Name == "":
			return "", "", invalidRequest("Empty %s not supported", p.Type)
		default:
			nodes[p.Type] = znode.Sanitize(*p.Name)
		}
	}
	user, hasUser := nodes[quotaUser]
	client, hasClient := nodes[quotaClient]
	ip, hasIP := nodes[quotaIP]
	switch {
	case hasIP && (hasUser || hasClient):
		return "", "", invalidRequest("Invalid quota entity combination, IP entity should not be used with user/client ID entity.")
	case hasIP && !validIPEntity(ctx, ip):
		return "", "", invalidRequest("%s is not a valid IP or resolvable host.", ip)
	case hasIP:
		return ipEntity, ip, nil
	case hasUser && hasClient:
		return userEntity, user + clientsOf + client, nil
	case hasUser:
		return userEntity, user, nil
	case hasClient:
		return clientEntity, client, nil
	}
	return "", "", invalidRequest("Invalid empty client quota entity")
}

// lastOfEach leaves one part of each type: of twins the last counts.
func lastOfEach(parts []kmsg.AlterClientQuotasRequestEntryEntity) []kmsg.AlterClientQuotasRequestEntryEntity {
	var out []kmsg.AlterClientQuotasRequestEntryEntity
	for i, p := range parts {
		later := func(q kmsg.AlterClientQuotasRequestEntryEntity) bool { return q.Type == p.Type }
		if !slices.ContainsFunc(parts[i+1:], later) {
			out = append(out, p)
		}
	}
	return out
}

// validIPEntity takes addresses, and host names that can be resolved.
func validIPEntity(ctx context.Context, node string) bool {
	return node == znode.DefaultEntity || len(addressesOf(ctx, node)) > 0
}

// addressesOf are the addresses that an entity of type ip stands for.
func addressesOf(ctx context.Context, node string) []netip.Addr {
	name := znode.Desanitize(node)
	if ip, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{ip.Unmap()}
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	return ips
}

// wholeTolerance is how far from a whole number a value may be that must be one. Kafka: ZkAdminManager.alterClientQuotas.
const wholeTolerance = 1e-6

// quotaText is a value as ZooKeeper has it: whole numbers, but for percentages and the rate of mutations.
func quotaText(entityType, key string, v float64) (string, error) {
	isIP := entityType == ipEntity
	switch {
	case isIP != (key == quota.ConnectionKey) || !isIP && !slices.Contains(quota.Keys[:], key):
		return "", invalidRequest("Invalid configuration key %s", key)
	case key == quota.Keys[quota.Request] || key == quota.Keys[quota.Mutation]:
		return config.Format(v), nil
	}
	kind, most := "LONG", float64(math.MaxInt64)
	if isIP {
		kind, most = "INT", math.MaxInt32
	}
	whole := math.Trunc(v + wholeTolerance)
	if math.Abs(whole-v) > wholeTolerance || math.IsNaN(v) || whole > most {
		return "", invalidRequest("Configuration %s must be a %s value", key, kind)
	}
	if whole == math.MaxInt64 {
		return strconv.FormatInt(math.MaxInt64, 10), nil
	}
	return strconv.FormatInt(int64(whole), 10), nil
}
