package security

import (
	"fmt"
	"strings"
)

// UserType is the type of all principals that authentication makes. Kafka: KafkaPrincipal.USER_TYPE.
const UserType = "User"

// Principal is who a peer has proven to be. Principals are compared with ==. Kafka: KafkaPrincipal.
type Principal struct{ Type, Name string }

// Anonymous is who has proven nothing. Kafka: KafkaPrincipal.ANONYMOUS.
var Anonymous = Principal{UserType, "ANONYMOUS"}

// User is the principal of a user.
func User(name string) Principal { return Principal{UserType, name} }

// ParsePrincipal reads "User:alice". The name may be empty or have colons. Kafka: SecurityUtils.parseKafkaPrincipal.
func ParsePrincipal(s string) (Principal, error) {
	kind, name, ok := strings.Cut(s, ":")
	if !ok {
		return Principal{}, fmt.Errorf("expected a string in format principalType:principalName but got %s", s)
	}
	return Principal{kind, name}, nil
}

// String is the way back of ParsePrincipal.
func (p Principal) String() string { return p.Type + ":" + p.Name }
