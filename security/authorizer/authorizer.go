package authorizer

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"jackdaw/internal/run"
	"jackdaw/protocol"
	"jackdaw/security"
	"jackdaw/security/acl"
	"jackdaw/zkstore"
)

// Authorizer decides by the ACLs in ZooKeeper. Kafka: AclAuthorizer.
type Authorizer struct {
	log, audit *slog.Logger
	table      atomic.Pointer[acl.Table]
	rules      acl.Rules
	// changing is held by the one who reads ZooKeeper and replaces the table.
	changing chan struct{}
}

// New returns an authorizer that knows no ACLs yet.
func New(rules acl.Rules, lg *slog.Logger) *Authorizer {
	a := &Authorizer{log: lg, audit: lg.With("logger", "kafka.authorizer.logger"), rules: rules, changing: make(chan struct{}, 1)}
	a.table.Store(acl.NewTable(rules))
	return a
}

// Table returns the present ACLs.
func (a *Authorizer) Table() *acl.Table { return a.table.Load() }

// Action is something that somebody wants to do.
type Action struct {
	Principal security.Principal
	Host      string
	// Key is that of the request's API, for the audit log.
	Key       int16
	Operation acl.Operation
	Type      acl.ResourceType
	Name      string
	// References is how often the request names the resource.
	References int
	// Quiet leaves a denial out of the audit log: nothing was asked for by its name, or there is another way to be allowed.
	Quiet bool
}

// Allows decides about an action, and logs that: denials at Info, permissions at Debug.
func (a *Authorizer) Allows(ctx context.Context, x Action) bool {
	ok := a.table.Load().Allows(x.Principal, x.Host, x.Operation, x.Type, x.Name)
	a.record(ctx, x, acl.Literal, ok)
	return ok
}

// AllowsAny decides whether the action is allowed on at least one resource of its type.
func (a *Authorizer) AllowsAny(ctx context.Context, x Action) bool {
	ok := a.table.Load().AllowsAny(x.Principal, x.Host, x.Operation, x.Type)
	x.Name = "NONE"
	a.record(ctx, x, 0, ok)
	return ok
}

// Operations returns the operations that are allowed, of those that a type of resources supports, as bits by number.
// Kafka: AuthHelper.authorizedOperations.
func (a *Authorizer) Operations(who security.Principal, host string, kind acl.ResourceType, name string) int32 {
	t, bits := a.table.Load(), int32(0)
	for _, op := range acl.Supported(kind) {
		if t.Allows(who, host, op, kind, name) {
			bits |= 1 << op
		}
	}
	return bits
}

// record writes the line that Kafka writes, word for word: it is read by tools.
func (a *Authorizer) record(ctx context.Context, x Action, kind acl.PatternKind, ok bool) {
	level, result := slog.LevelInfo, "Denied"
	if ok {
		level, result = slog.LevelDebug, "Allowed"
	} else if x.Quiet {
		return
	}
	if !a.audit.Enabled(ctx, level) {
		return
	}
	api, _ := protocol.Lookup(x.Key)
	line := fmt.Sprintf("Principal = %s is %s Operation = %s from host = %s on resource = %s:%s:%s for request = %s with resourceRefCount = %d",
		x.Principal, result, x.Operation.Title(), x.Host, x.Type.Title(), kind, x.Name, api.Name, max(x.References, 1))
	a.audit.Log(ctx, level, line) //nolint:sloglint // Kafka's line, which tools read
}

// alone runs f as the only one that replaces the table.
func (a *Authorizer) alone(ctx context.Context, f func() error) error {
	select {
	case a.changing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-a.changing }()
	return f()
}

// Load reads all ACLs.
func (a *Authorizer) Load(ctx context.Context, session *zkstore.Session) error {
	if err := session.EnsureACLPaths(ctx); err != nil {
		return fmt.Errorf("paths of acls: %w", err)
	}
	return a.alone(ctx, func() error {
		all, err := session.AllACLs(ctx)
		if err != nil {
			return fmt.Errorf("read acls: %w", err)
		}
		a.table.Store(acl.NewTable(a.rules).With(all))
		a.log.Info("acls read", "patterns", len(all))
		return nil
	})
}

// Follow reads all ACLs, since changes may have been missed between two sessions, and those that change from then on,
// until the session ends. Notifications that are there already are heard, too, so that nothing is missed in between.
func (a *Authorizer) Follow(ctx context.Context, session *zkstore.Session, parts *run.Group) error {
	if err := a.Load(ctx, session); err != nil {
		return err
	}
	for _, parent := range zkstore.ACLChangesPaths() {
		parts.Go("acl-changes", func(ctx context.Context) error {
			err := session.WatchACLChanges(ctx, parent, func(changed []acl.Pattern) { a.reload(ctx, session, changed) })
			a.log.Debug("no longer watching acl changes", "err", err)
			return nil
		})
	}
	return nil
}

// reload reads patterns again. What cannot be read stays as it was.
func (a *Authorizer) reload(ctx context.Context, session *zkstore.Session, changed []acl.Pattern) {
	err := a.alone(ctx, func() error {
		found, err := session.ACLs(ctx, changed)
		if err == nil {
			a.table.Store(a.table.Load().With(found))
			a.log.Info("acls read again", "patterns", len(changed))
		}
		return err
	})
	if err != nil {
		a.log.Error("acl change not read", "patterns", len(changed), "err", err)
	}
}
