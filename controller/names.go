package controller

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/controller/state"
	"jackdaw/metadata"
)

// maxTopicName is the longest name: with "-", a partition number and the suffix of a deleted log it fits into a file name.
const maxTopicName = 249

// ValidateTopicName returns INVALID_TOPIC_EXCEPTION, with Kafka's text, for a name that no topic may have.
// Kafka: Topic.validate.
func ValidateTopicName(name string) error {
	refuse := func(why string) error {
		return state.Errorf(kerr.InvalidTopicException, "Topic name is invalid: %s", why)
	}
	switch {
	case name == "":
		return refuse("the empty string is not allowed")
	case name == ".", name == "..":
		return refuse("'" + name + "' is not allowed")
	case len(name) > maxTopicName:
		return refuse("the length of '" + name + "' is longer than the max allowed length 249")
	case strings.ContainsFunc(name, func(r rune) bool { return !legalInName(r) }):
		return refuse("'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'")
	}
	return nil
}

func legalInName(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

// colliding returns the topics whose metrics would have the name of this topic's: '.' and '_' are the same there.
// Kafka: Topic.hasCollision.
func colliding(name string, topics []string) []string {
	if !strings.ContainsAny(name, "._") {
		return nil
	}
	unify := func(s string) string { return strings.ReplaceAll(s, ".", "_") }
	var out []string
	for _, t := range topics {
		if t != name && unify(t) == unify(name) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// newTopicID makes a random id. As in Kafka none begins with '-', which command line tools take for an option.
// Kafka: Uuid.randomUuid.
func newTopicID() metadata.TopicID {
	for {
		var id metadata.TopicID
		_, _ = rand.Read(id[:]) // never fails
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if !strings.HasPrefix(id.String(), "-") {
			return id
		}
	}
}
