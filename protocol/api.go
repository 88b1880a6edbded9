package protocol

import "sort"

// API is one row of the table of what the broker serves.
type API struct {
	// Key is the API key, Name the request's name in Kafka's documents.
	Key  int16
	Name string
	// Min and Max bound the versions that are served, and advertised.
	Min, Max int16
	// Flexible is the first version with compact types and tagged fields (KIP-482), or never.
	Flexible int16
	// body describes the request's fields: see schema.go.
	body *node
}

// never is the Flexible of an API that has no flexible version.
const never = int16(0x7fff)

// Lookup finds the row of a key. ok is false when the key is not served.
func Lookup(key int16) (api API, ok bool) {
	i := sort.Search(len(table), func(i int) bool { return table[i].Key >= key })
	if i == len(table) || table[i].Key != key {
		return API{}, false
	}
	return table[i], true
}

// Table returns all rows, ordered by key. The slice is the caller's.
func Table() []API { return append([]API(nil), table...) }

// Supports tells whether this version is served.
func (a API) Supports(version int16) bool { return version >= a.Min && version <= a.Max }
