package config

import (
	"strings"

	"jackdaw/security"
)

// aclAuthorizer is the authorizer that is built in: its ACLs are in ZooKeeper.
const aclAuthorizer = "kafka.security.authorizer.AclAuthorizer"

// Authorization is about ACLs. Kafka: AclAuthorizer.configure.
type Authorization struct {
	// Enabled is set by authorizer.class.name. Without it everybody may do everything.
	Enabled bool
	// SuperUsers may do everything.
	SuperUsers []security.Principal
	// AllowUnprotected is allow.everyone.if.no.acl.found.
	AllowUnprotected bool
}

// Keys of the authorizer. They are not in the table of keys: Kafka hands them to the class, and shows them only if they are
// set, without their values.
const (
	authorizerClass  = "authorizer.class.name"
	superUsers       = "super.users"
	allowUnprotected = "allow.everyone.if.no.acl.found"
	// authorizerPrefix begins the keys for an own connection to ZooKeeper.
	authorizerPrefix = "authorizer.zookeeper."
	authorizerURL    = authorizerPrefix + "url"
)

// authorization reads the settings of the authorizer. What is set without one has no effect, and no fault.
func authorization(raw map[string]string) (Authorization, error) {
	switch class := strings.TrimSpace(raw[authorizerClass]); class {
	case "":
		return Authorization{}, nil
	case aclAuthorizer:
	case "org.apache.kafka.metadata.authorizer.StandardAuthorizer":
		return Authorization{}, invalid(authorizerClass, class, "it keeps its ACLs in the KRaft log; with ZooKeeper use "+aclAuthorizer)
	default:
		return Authorization{}, invalid(authorizerClass, class, "the only authorizer is "+aclAuthorizer)
	}
	if url := raw[authorizerURL]; url != "" {
		return Authorization{}, invalid(authorizerURL, url, "the ACLs are in the ZooKeeper of zookeeper.connect")
	}
	out := Authorization{Enabled: true, AllowUnprotected: strings.EqualFold(strings.TrimSpace(raw[allowUnprotected]), "true")}
	users := strings.FieldsFunc(raw[superUsers], func(c rune) bool { return c == ';' })
	for _, name := range users {
		p, err := security.ParsePrincipal(strings.TrimSpace(name))
		if err != nil {
			return Authorization{}, invalid(superUsers, raw[superUsers], err.Error())
		}
		out.SuperUsers = append(out.SuperUsers, p)
	}
	return out, nil
}

// whyAuthorizerIgnored explains a key of the authorizer; ok is false for others.
func (l *Loaded) whyAuthorizerIgnored(name string) (why string, ok bool) {
	switch {
	case name != superUsers && name != allowUnprotected && !strings.HasPrefix(name, authorizerPrefix):
		return "", false
	case !l.broker.Authorization.Enabled:
		return authorizerClass + " is not set", true
	case strings.HasPrefix(name, authorizerPrefix):
		return "ACLs are read in the broker's own ZooKeeper session", true
	}
	return "", true
}
