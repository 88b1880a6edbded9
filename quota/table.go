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
	quotas map[Entity]limits
	// any tells which kinds have a quota at all.
	any [kinds]bool
}

// limits are the quotas of an entity. set tells which there are: a limit of 0 is one, too.
type limits struct {
	limit [kinds]float64
	set   [kinds]bool
}

// NewTable returns a table of these quotas, by the names of Keys. Names that are not quotas are ignored.
func NewTable(all map[Entity]map[string]float64) *Table {
	t := &Table{quotas: make(map[Entity]limits, len(all))}
	for e, values := range all {
		t.set(e, values)
	}
	return t
}

// With returns a table in which the entity has these quotas, and no others.
func (t *Table) With(e Entity, values map[string]float64) *Table {
	out := &Table{quotas: map[Entity]limits{}}
	if t != nil {
		maps.Copy(out.quotas, t.quotas)
	}
	delete(out.quotas, e)
	for _, q := range out.quotas {
		out.note(q)
	}
	out.set(e, values)
	return out
}

func (t *Table) set(e Entity, values map[string]float64) {
	var q limits
	found := false
	for k, name := range Keys {
		if v, ok := values[name]; ok {
			q.limit[k], q.set[k], found = v, true, true
		}
	}
	if found {
		t.quotas[e] = q
		t.note(q)
	}
}

// note remembers which kinds of quotas there are.
func (t *Table) note(q limits) {
	for k := range q.set {
		t.any[k] = t.any[k] || q.set[k]
	}
}

// Any tells whether anybody has a quota of a kind. A nil table has none.
func (t *Table) Any(k Kind) bool { return t != nil && t.any[k] }

// Some tells whether there are quotas of any kind.
func (t *Table) Some() bool { return t != nil && len(t.quotas) > 0 }

// Find returns the quota that counts for a user and a client id. The most special entity wins:
// user and client, user and default client, user, default user and client, both defaults, default user, client, default
// client. Kafka: DefaultQuotaCallback.
func (t *Table) Find(k Kind, user, client string) (Quota, bool) {
	if !t.Any(k) {
		return Quota{}, false
	}
	for _, level := range levels {
		e := Entity{User: level.user.name(user), Client: level.client.name(client)}
		if q := t.quotas[e]; q.set[k] {
			key := Key{OfUser: e.User.Set, OfClient: e.Client.Set}
			if key.OfUser {
				key.User = user
			}
			if key.OfClient {
				key.Client = client
			}
			return Quota{Key: key, Limit: q.limit[k]}, true
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
