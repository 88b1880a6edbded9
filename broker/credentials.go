package broker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"jackdaw/security/sasl"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// credentialKey names a SCRAM credential.
type credentialKey struct{ mechanism, user string }

// credentials are those of all users, as ZooKeeper has them below /config/users. Kafka: CredentialProvider.
type credentials struct {
	log *slog.Logger
	// loading is held by the one who reads ZooKeeper and replaces all.
	loading sync.Mutex
	all     atomic.Pointer[map[credentialKey]sasl.Credential] // never changed, only replaced
}

func newCredentials(lg *slog.Logger) *credentials {
	c := &credentials{log: lg}
	c.all.Store(&map[credentialKey]sasl.Credential{})
	return c
}

// Find looks for a credential; see sasl.Settings.
func (c *credentials) Find(mechanism, user string) (sasl.Credential, bool) {
	found, ok := (*c.all.Load())[credentialKey{mechanism, user}]
	return found, ok
}

// Load reads all credentials. It comes before the first listener is opened: brokers prove themselves with them.
func (c *credentials) Load(ctx context.Context, session *zkstore.Session) error {
	if session == nil {
		return zkstore.ErrSessionExpired
	}
	c.loading.Lock()
	defer c.loading.Unlock()
	users, err := session.EntityConfigs(ctx, userEntity)
	if err != nil {
		return fmt.Errorf("read users: %w", err)
	}
	all := map[credentialKey]sasl.Credential{}
	for name, settings := range users {
		c.add(all, znode.Desanitize(name), settings)
	}
	c.all.Store(&all)
	return nil
}

// Changed reads a user again; what a notification says of others than users is left alone.
func (c *credentials) Changed(ctx context.Context, session *zkstore.Session, entityType, name string) {
	if entityType != userEntity || strings.Contains(name, clientsOf) {
		return
	}
	c.loading.Lock()
	defer c.loading.Unlock()
	settings, err := session.EntityConfig(ctx, userEntity, name)
	if err != nil {
		c.log.Warn("credentials not read", "user", name, "err", err)
		return
	}
	user := znode.Desanitize(name)
	all := maps.Clone(*c.all.Load())
	maps.DeleteFunc(all, func(k credentialKey, _ sasl.Credential) bool { return k.user == user })
	c.add(all, user, settings)
	c.all.Store(&all)
}

// add takes the credentials out of a user's settings. What cannot be read was not written by Kafka.
func (c *credentials) add(all map[credentialKey]sasl.Credential, user string, settings map[string]string) {
	for _, m := range []string{sasl.ScramSHA256, sasl.ScramSHA512} {
		text, ok := settings[m]
		if !ok {
			continue
		}
		credential, err := sasl.ParseCredential(text)
		if err != nil {
			c.log.Warn("credential cannot be read", "user", user, "mechanism", m)
			continue
		}
		all[credentialKey{m, user}] = credential
	}
}
