package acl

import "jackdaw/security"

// AllowsAny decides whether somebody at a host may do something to at least one resource of a type, whether it exists or
// not: what a producer needs that asks for an id before it says where it writes (KIP-679). An allowed operation that
// implies op does not count, as in Kafka: AclAuthorizer.authorizeByResourceType.
func (t *Table) AllowsAny(who security.Principal, host string, op Operation, kind ResourceType) bool {
	if t.Super(who) {
		return true
	}
	r := &t.types[kind]
	says := func(list []entry, p Permission) bool {
		for i := range list {
			e := &list[i]
			if e.Permission == p && (e.Operation == op || e.Operation == All) && e.concerns(who, host) {
				return true
			}
		}
		return false
	}
	switch {
	case says(r.literals[Wildcard], Deny):
		return false
	case t.rules.AllowUnprotected:
		return true
	}
	// A prefix counts unless a denied prefix covers it, whatever is denied below; a literal unless it is denied itself.
	covered := func(name string) bool {
		for _, n := range r.lengths {
			if n > len(name) {
				break
			}
			if says(r.prefixes[name[:n]], Deny) {
				return true
			}
		}
		return false
	}
	for name, list := range r.literals {
		if says(list, Allow) && (name == Wildcard || !says(list, Deny) && !covered(name)) {
			return true
		}
	}
	for name, list := range r.prefixes {
		if says(list, Allow) && !covered(name) {
			return true
		}
	}
	return false
}
