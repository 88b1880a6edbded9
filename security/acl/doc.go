// Package acl decides who may do what: Kafka's ACLs, as a table that is asked and filters that select from it.
//
// A Table never changes; With makes the next one. A lookup looks at the literal pattern of the resource, at the
// wildcard "*", and at one prefix for each length that prefixed patterns have, so that its cost does not grow with the
// number of patterns. It allocates nothing.
//
// Kafka: AclAuthorizer, AclEntry, AclBinding, AclBindingFilter, ResourcePattern, ResourcePatternFilter.
package acl
