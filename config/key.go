package config

import "strconv"

// Type is the type of a key's value. The numbers are those of DescribeConfigs. Kafka: ConfigDef.Type.
type Type int8

// The types in the order of DescribeConfigs; Unknown is that of keys which are not in the table.
const (
	Unknown Type = iota
	Boolean
	String
	Int
	Short
	Long
	Double
	List
	Class
	Password
)

// String returns Kafka's name of the type, as in "Not a number of type LONG".
func (t Type) String() string {
	names := [...]string{"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}
	if t < 0 || int(t) >= len(names) {
		return "Type(" + strconv.Itoa(int(t)) + ")"
	}
	return names[t]
}

// Mode tells whether and where a key may be changed while the broker runs. Kafka: DynamicBrokerConfig.
type Mode uint8

const (
	// ReadOnly keys need a restart.
	ReadOnly Mode = iota
	// Internal keys are read-only, and DescribeConfigs does not show them.
	Internal
	// PerBroker keys can be changed for one broker.
	PerBroker
	// ClusterWide keys can be changed for one broker and for all.
	ClusterWide
)

// Use tells what Jackdaw does with a key.
type Use uint8

const (
	// Honored keys have Kafka's effect.
	Honored Use = iota
	// Later keys are checked and otherwise ignored until their feature exists.
	Later
	// Needless keys tune something that has no counterpart here.
	Needless
	// JVM keys concern the Java virtual machine and classes loaded into it.
	JVM
	// KRaft keys have no meaning where ZooKeeper keeps the metadata; Kafka ignores them too.
	KRaft
	// Tiered keys belong to tiered storage (KIP-405).
	Tiered
)

// Reason says why a key has no effect; it is empty for honored keys.
func (u Use) Reason() string {
	switch u {
	case Later:
		return "not supported yet"
	case Needless:
		return "nothing to tune: there is no such pool or queue here"
	case JVM:
		return "concerns the Java virtual machine only"
	case KRaft:
		return "has no meaning with ZooKeeper"
	case Tiered:
		return "tiered storage is not supported"
	case Honored:
	}
	return ""
}

// Value is text that may be null.
type Value struct {
	Text string
	Null bool
}

// null is the default of keys that have none.
var null = Value{Null: true}

func val(s string) Value { return Value{Text: s} }

// Key describes one configuration key.
type Key struct {
	Name    string
	Type    Type
	Default Value
	// Check is asked about each value that has the right type; see check.go.
	Check Check
	Mode  Mode
	Use   Use
	// Doc is one sentence for DescribeConfigs and docs/config.md.
	Doc string
}

// Section is a group of keys in the order of docs/config.md.
type Section struct {
	Title string
	Keys  []Key
}

// required is the only key without a default.
const required = "zookeeper.connect"

// Sections returns all keys of Kafka 3.9 in server.properties, then Jackdaw's own.
func Sections() []Section { return sections }

// TopicKeys returns the keys of a topic's config.
func TopicKeys() []TopicKey { return topicKeys }

// Lookup finds a broker key by name.
func Lookup(name string) (*Key, bool) {
	k, ok := byName[name]
	return k, ok
}

// byName indexes sections; like the table it is never changed.
var byName = func() map[string]*Key {
	m := make(map[string]*Key, 512)
	for _, s := range sections {
		for i := range s.Keys {
			m[s.Keys[i].Name] = &s.Keys[i]
		}
	}
	return m
}()
