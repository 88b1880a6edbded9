package zkstore

import (
	"context"

	"jackdaw/zkstore/znode"
)

// EntityConfigNode is the configuration of an entity.
type EntityConfigNode struct {
	// Type is users, clients or ips. Name stays percent-encoded; that of a client id of a user is user/clients/client.
	Type, Name string
	Config     map[string]string
}

// ClientQuotas reads the configurations of all users, client ids and addresses: quotas, and credentials of users beside
// them. Entities with an empty configuration are among them.
func (s *Session) ClientQuotas(ctx context.Context) ([]EntityConfigNode, error) {
	var out []EntityConfigNode
	for _, entityType := range []string{"users", "clients", "ips"} {
		names, err := s.childrenIfAny(ctx, znode.ConfigPath+"/"+entityType)
		if err != nil {
			return nil, err
		}
		if entityType == "users" {
			if names, err = s.withClients(ctx, names); err != nil {
				return nil, err
			}
		}
		configs, err := s.readConfigs(ctx, entityType, names)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			out = append(out, EntityConfigNode{Type: entityType, Name: name, Config: configs[name]})
		}
	}
	return out, nil
}

// withClients adds the client ids of each user to the users.
func (s *Session) withClients(ctx context.Context, users []string) ([]string, error) {
	out := append([]string(nil), users...)
	for _, user := range users {
		clients, err := s.childrenIfAny(ctx, znode.EntityConfigPath("users", user)+"/clients")
		if err != nil {
			return nil, err
		}
		for _, client := range clients {
			out = append(out, user+"/clients/"+client)
		}
	}
	return out, nil
}
