package quota

import "maps"

// Kind is what a quota is about.
type Kind uint8

const (
	// Produce is bytes a second sent by producers.
	Produce Kind = iota
	// Fetch is bytes a second sent to consumers.
	Fetch
	// Request is the time that requests take, in percent of one thread.
	Request
	// Mutation is partitions created and deleted a second (KIP-599).
	Mutation
	kinds
)

// Keys are the names of quotas in ZooKeeper and in requests, by kind. Kafka: QuotaConfigs.
var Keys = [kinds]string{"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}

// ConnectionKey is the quota of an address: new connections a second.
const ConnectionKey = "connection_creation_rate"

// Entity is whom a quota is for. Kafka: ClientQuotaEntity.
type Entity struct {
	User, Client Name
}

// Name is one part of an entity: absent, the default, or a name.
type Name struct {
	Set bool
	// Default stands for all names without a quota of their own; Text is empty then.
	Default bool
	Text    string
}

// Named is the part with a name.
func Named(text string) Name { return Name{Set: true, Text: text} }

// Default is the part that stands for all others.
func Default() Name { return Name{Set: true, Default: true} }

// Key tells who shares what a quota allows: one user, one client id, or one client id of one user. Parts that do not
// count are empty.
type Key struct {
	User, Client     string
	OfUser, OfClient bool
}

// Quota is a limit and who shares it.
type Quota struct {
	Key   Key
	Limit float64
}

// Table has all quotas of users and client ids. It is never changed once it is in use: With makes another.
type Table struct {
	quotas map[Entity][kinds]float64
	// any tells which kinds have a quota at all.
	any [kinds]bool
}

// unlimited is the absence of a quota within the array of an entity: quotas are positive.
const unlimited = 0

// With returns a table in which the entity has these quotas, by the names of Keys, and no others. Names that are not
// quotas are ignored.
func (t *Table) With(e Entity, values map[string]float64) *Table {
	out := &Table{quotas: map[Entity][kinds]float64{}}
	if t != nil {
		maps.Copy(out.quotas, t.quotas)
	}
	var q [kinds]float64
	found := false
	for k, name := range Keys {
		if v, ok := values[name]; ok && v > 0 {
			q[k], found = v, true
		}
	}
	delete(out.quotas, e)
	if found {
		out.quotas[e] = q
	}
	for _, q := range out.quotas {
		for k := range q {
			out.any[k] = out.any[k] || q[k] != unlimited
		}
	}
	return out
}

// Any tells whether anybody has a quota of a kind. A nil table has none.
func (t *Table) Any(k Kind) bool { return t != nil && t.any[k] }

// Find returns the quota that counts for a user and a client id. The most special entity wins:
// user and client, user and default client, user, default user and client, both defaults, default user, client, default
// client. Kafka: DefaultQuotaCallback.
func (t *Table) Find(k Kind, user, client string) (Quota, bool) {
	if !t.Any(k) {
		return Quota{}, false
	}
	for _, level := range levels {
		e := Entity{User: level.user.name(user), Client: level.client.name(client)}
		if limit := t.quotas[e][k]; limit != unlimited {
			key := Key{OfUser: e.User.Set, OfClient: e.Client.Set}
			if key.OfUser {
				key.User = user
			}
			if key.OfClient {
				key.Client = client
			}
			return Quota{Key: key, Limit: limit}, true
		}
	}
	return Quota{}, false
}

// part says which name a level looks for.
type part uint8

const (
	absent part = iota
	own
	standard
)

func (p part) name(text string) Name {
	switch p {
	case own:
		return Named(text)
	case standard:
		return Default()
	case absent:
	}
	return Name{}
}

// levels are the kinds of entities, the strongest first.
var levels = [8]struct{ user, client part }{
	{own, own}, {own, standard}, {own, absent}, {standard, own}, {standard, standard}, {standard, absent}, {absent, own}, {absent, standard},
}
