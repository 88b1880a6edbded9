package authorizer

import (
	"context"
	"slices"

	"jackdaw/security/acl"
	"jackdaw/zkstore"
)

// Create adds bindings. Errors[i] is that of bindings[i]; those of one pattern are added together or not at all.
// Kafka: AclAuthorizer.createAcls.
func (a *Authorizer) Create(ctx context.Context, session *zkstore.Session, bindings []acl.Binding) (errors []error) {
	errors = make([]error, len(bindings))
	places := map[acl.Pattern][]int{}
	for i, b := range bindings {
		places[b.Pattern] = append(places[b.Pattern], i)
	}
	_ = a.alone(ctx, func() error { // an error is the end of ctx: nobody waits for the answer
		w := writer{a: a, session: session, written: map[acl.Pattern][]acl.Entry{}}
		for p, places := range places {
			err := w.change(ctx, p, func(had []acl.Entry) []acl.Entry {
				for _, i := range places {
					if !slices.Contains(had, bindings[i].Entry) {
						had = append(had, bindings[i].Entry)
					}
				}
				return had
			})
			for _, i := range places {
				errors[i] = err
			}
		}
		w.publish()
		return nil
	})
	return errors
}

// Deletion is a binding that was to be deleted, and why it could not be.
type Deletion struct {
	acl.Binding
	Err error
}

// Delete removes the bindings that filters select; out[i] are those that filters[i] was the first to select. What other
// brokers have created and this one has not heard of is found by the filters that name a pattern only.
// Kafka: AclAuthorizer.deleteAcls.
func (a *Authorizer) Delete(ctx context.Context, session *zkstore.Session, filters []acl.Filter) (out [][]Deletion) {
	out = make([][]Deletion, len(filters))
	_ = a.alone(ctx, func() error { // as in Create
		w := writer{a: a, session: session, written: map[acl.Pattern][]acl.Entry{}}
		for p, by := range a.selected(filters) {
			var deleted []acl.Entry
			var places []int
			err := w.change(ctx, p, func(had []acl.Entry) []acl.Entry {
				deleted, places = nil, nil
				return slices.DeleteFunc(had, func(e acl.Entry) bool {
					n := slices.IndexFunc(by, func(i int) bool { return filters[i].EntryFilter.Selects(e) })
					if n >= 0 {
						deleted, places = append(deleted, e), append(places, by[n])
					}
					return n >= 0
				})
			})
			for n, e := range deleted {
				out[places[n]] = append(out[places[n]], Deletion{acl.Binding{Pattern: p, Entry: e}, err})
			}
		}
		w.publish()
		return nil
	})
	return out
}

// selected returns the patterns of filters, named by them or known here, each with the places of its filters.
func (a *Authorizer) selected(filters []acl.Filter) map[acl.Pattern][]int {
	out := map[acl.Pattern][]int{}
	for i, f := range filters {
		named, ok := f.Patterns()
		if !ok {
			named = a.known(f)
		}
		for _, p := range named {
			out[p] = append(out[p], i)
		}
	}
	return out
}

// known returns the patterns for which the table has an entry that the filter selects.
func (a *Authorizer) known(f acl.Filter) []acl.Pattern {
	table := a.table.Load()
	return slices.DeleteFunc(table.Patterns(f.PatternFilter), func(p acl.Pattern) bool {
		return !slices.ContainsFunc(table.Entries(p), f.EntryFilter.Selects)
	})
}

// writer changes ACLs in ZooKeeper, then all of them in the table.
type writer struct {
	a       *Authorizer
	session *zkstore.Session
	written map[acl.Pattern][]acl.Entry
}

func (w *writer) change(ctx context.Context, p acl.Pattern, change func([]acl.Entry) []acl.Entry) error {
	entries, err := w.session.ChangeACLs(ctx, p, change)
	if err != nil {
		w.a.log.Error("acls not changed", "type", p.Type, "pattern", p.Kind, "name", p.Name, "err", err)
		return err
	}
	w.written[p] = entries
	w.a.log.Info("acls changed", "type", p.Type, "pattern", p.Kind, "name", p.Name, "entries", len(entries))
	return nil
}

func (w *writer) publish() { w.a.table.Store(w.a.table.Load().With(w.written)) }
