package broker

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
	"jackdaw/security/acl"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// DescribeClientQuotas (48), v0-1. Kafka: KafkaApis.handleDescribeClientQuotasRequest, ZkAdminManager.describeClientQuotas; KIP-546.
// Pipelined: no.   Cost: all quotas in ZooKeeper.
func (b *Broker) handleDescribeClientQuotas(r *network.Request) {
	req := r.Body.(*kmsg.DescribeClientQuotasRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClientQuotasResponse)
	if b.refused(r, b.deniedCluster(r, acl.DescribeConfigs)) {
		return
	}
	entries, err := b.describeQuotas(r.Context(), req)
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = protocol.ErrorCode(err), protocol.ErrorMessage(err)
		r.Respond(resp)
		return
	}
	resp.ErrorMessage = new(string)
	resp.Entries = entries
	if entries == nil {
		resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{}
	}
	r.Respond(resp)
}

// Entity types as requests name them. Kafka: ClientQuotaEntity.
const (
	quotaUser   = "user"
	quotaClient = "client-id"
	quotaIP     = "ip"
)

func (b *Broker) describeQuotas(ctx context.Context, req *kmsg.DescribeClientQuotasRequest) ([]kmsg.DescribeClientQuotasResponseEntry, error) {
	filters, err := quotaFilters(req)
	if err != nil {
		return nil, err
	}
	session := b.zk.Session()
	if session == nil {
		return nil, zkstore.ErrSessionExpired
	}
	all, err := session.ClientQuotas(ctx)
	if err != nil {
		return nil, fmt.Errorf("read quotas: %w", err)
	}
	var out []kmsg.DescribeClientQuotasResponseEntry
	for _, e := range all {
		entity := quotaEntityParts(e.Type, e.Name)
		values := quotaValues(e.Config)
		if len(values) == 0 || !filters.match(entity, req.Strict) {
			continue
		}
		entry := kmsg.DescribeClientQuotasResponseEntry{}
		for _, kind := range []string{quotaUser, quotaClient, quotaIP} {
			if name, ok := entity[kind]; ok {
				entry.Entity = append(entry.Entity, kmsg.DescribeClientQuotasResponseEntryEntity{Type: kind, Name: name})
			}
		}
		for key, v := range values {
			entry.Values = append(entry.Values, kmsg.DescribeClientQuotasResponseEntryValue{Key: key, Value: v})
		}
		out = append(out, entry)
	}
	return out, nil
}

// quotaEntityParts gives the names of an entity by type; nil is the default.
func quotaEntityParts(entityType, name string) map[string]*string {
	switch entityType {
	case clientEntity:
		return map[string]*string{quotaClient: quotaNodeName(name)}
	case ipEntity:
		return map[string]*string{quotaIP: quotaNodeName(name)}
	}
	user, client, both := strings.Cut(name, clientsOf)
	out := map[string]*string{quotaUser: quotaNodeName(user)}
	if both {
		out[quotaClient] = quotaNodeName(client)
	}
	return out
}

func quotaNodeName(node string) *string {
	if node == znode.DefaultEntity {
		return nil
	}
	name := znode.Desanitize(node)
	return &name
}

// quotaFilter is what one type of entity has to be.
type quotaFilter struct {
	match kmsg.QuotasMatchType
	name  string
}

// quotaFilterSet has filters by type of entity.
type quotaFilterSet map[string]quotaFilter

// quotaFilters checks the filters of a request. Kafka: DescribeClientQuotasRequest.filter, ZkAdminManager.
func quotaFilters(req *kmsg.DescribeClientQuotasRequest) (quotaFilterSet, error) {
	out := quotaFilterSet{}
	for _, c := range req.Components {
		switch {
		case c.MatchType < kmsg.QuotasMatchTypeExact || c.MatchType > kmsg.QuotasMatchTypeAny:
			return nil, invalidRequest("Unexpected match type: %d", c.MatchType)
		case c.MatchType == kmsg.QuotasMatchTypeExact && c.Match == nil:
			return nil, invalidRequest("Request specified MATCH_TYPE_EXACT, but set match string to null.")
		}
	}
	for _, c := range req.Components {
		_, twice := out[c.EntityType]
		switch {
		case c.EntityType == "":
			return nil, invalidRequest("Unexpected empty filter component entity type")
		case c.EntityType != quotaUser && c.EntityType != quotaClient && c.EntityType != quotaIP:
			return nil, protocol.WithMessage(kerr.UnsupportedVersion, fmt.Sprintf("Custom entity type '%s' not supported", c.EntityType))
		case twice:
			return nil, invalidRequest("Duplicate %s filter component entity type", c.EntityType)
		}
		out[c.EntityType] = quotaFilter{match: c.MatchType, name: value(c.Match)}
	}
	if _, ip := out[quotaIP]; ip && len(out) > 1 {
		return nil, invalidRequest("Invalid entity filter component combination, IP filter component should not be used with user or clientId filter component.")
	}
	return out, nil
}

// match tells whether an entity passes. A type without a filter must be absent when strict is set.
func (f quotaFilterSet) match(entity map[string]*string, strict bool) bool {
	for kind, want := range f {
		name, ok := entity[kind]
		switch {
		case !ok:
			return false
		case want.match == kmsg.QuotasMatchTypeExact && (name == nil || *name != want.name):
			return false
		case want.match == kmsg.QuotasMatchTypeDefault && name != nil:
			return false
		}
	}
	for kind := range entity {
		if _, filtered := f[kind]; strict && !filtered {
			return false
		}
	}
	return true
}
