package tidy

import (
	"slices"
	"strings"
	"testing"
)

// room is one package and the packages of this module that it may import.
type room struct {
	name string
	// pure packages have no I/O, no goroutine, no clock, no lock and no logger: see pure_test.go.
	pure  bool
	level int
	may   []string
}

// rooms is the plan of the house, from the ground up. Beside its list, every room may import the foundation. An arrow
// that is not listed is refused, also one that points downwards; arrows never point up.
var rooms = []room{
	{name: "internal/assert"},
	{name: "internal/vfs"},
	{name: "internal/purgatory"},
	{name: "internal/budget"},
	{name: "internal/run"},
	{name: "internal/metrics"},
	{name: "metadata", pure: true},
	{name: "protocol/record", pure: true},
	{name: "protocol"},
	{name: "security", pure: true},
	{name: "security/keystore", pure: true},

	{name: "log/index", level: 1, may: []string{"internal/vfs"}},
	{name: "log/epoch", level: 1, may: []string{"internal/vfs"}},
	{name: "log/checkpoint", level: 1, may: []string{"internal/vfs"}},
	{name: "log/producer", level: 1, may: []string{"internal/vfs", "protocol/record"}},
	{name: "log/cleaner/plan", pure: true, level: 1, may: []string{"protocol/record"}},
	{name: "security/acl", pure: true, level: 1, may: []string{"security"}},
	{name: "replication/isr", pure: true, level: 1},
	{name: "controller/state", pure: true, level: 1},
	{name: "zkstore/znode", pure: true, level: 1, may: []string{"security/acl"}},
	{name: "zkstore/zktree", pure: true, level: 1},
	{name: "security/ssl", level: 1, may: []string{"security", "security/keystore"}},
	{name: "security/sasl", level: 1, may: []string{"security"}},
	{name: "config", level: 1, may: []string{"security", "security/ssl", "security/sasl"}},
	{name: "quota", pure: true, level: 1},
	{name: "coordinator/group/assignor", pure: true, level: 1},
	{name: "coordinator", level: 1, may: []string{"internal/run", "internal/metrics", "protocol/record"}},

	{name: "log", level: 2, may: []string{
		"internal/vfs", "internal/run", "internal/metrics", "protocol", "protocol/record", "log/index", "log/epoch", "log/checkpoint", "log/producer",
	}},
	{name: "log/cleaner", level: 2, may: []string{"internal/vfs", "internal/run", "internal/metrics", "protocol/record", "log", "log/index", "log/cleaner/plan"}},
	{name: "zkstore", level: 2, may: []string{"internal/run", "internal/metrics", "security/acl", "zkstore/znode"}},
	{name: "zkstore/zkserver", level: 2, may: []string{"internal/run", "internal/vfs", "internal/metrics", "zkstore/zktree"}},
	{name: "peer", level: 2, may: []string{"internal/run", "internal/metrics", "protocol", "security/sasl"}},
	{name: "coordinator/group", pure: true, level: 2, may: []string{"coordinator", "coordinator/group/assignor", "protocol/record"}},
	{name: "coordinator/shardtest", pure: true, level: 2, may: []string{"coordinator"}}, // of tests only
	{name: "coordinator/txn", pure: true, level: 2, may: []string{"coordinator", "protocol/record"}},

	{name: "replication", level: 3, may: []string{
		"internal/run", "internal/metrics", "internal/purgatory", "protocol", "protocol/record", "log", "replication/isr",
	}},
	{name: "controller", level: 3, may: []string{
		"internal/run", "internal/metrics", "protocol", "peer", "controller/state", "zkstore", "zkstore/znode",
	}},
	{name: "coordinator/service", level: 3, may: []string{
		"internal/run", "internal/metrics", "protocol", "protocol/record", "coordinator", "coordinator/group",
		"coordinator/group/assignor", "coordinator/txn",
	}},

	{name: "security/authorizer", level: 3, may: []string{"internal/run", "protocol", "security", "security/acl", "zkstore"}},

	{name: "broker/network", level: 4, may: []string{"internal/run", "internal/metrics", "internal/budget", "protocol", "security", "security/sasl"}},
	{name: "broker", level: 5, may: []string{
		"internal/vfs", "internal/run", "internal/metrics", "internal/budget", "internal/purgatory", "protocol", "protocol/record",
		"config", "quota", "log", "log/checkpoint", "log/cleaner", "zkstore", "zkstore/znode", "zkstore/zkserver", "peer", "replication", "controller",
		"controller/state", "coordinator", "coordinator/group", "coordinator/txn", "coordinator/service",
		"security", "security/acl", "security/authorizer", "security/ssl", "security/sasl", "broker/network",
	}},

	{name: "cmd/jackdaw", level: 6, may: []string{
		"internal/vfs", "internal/run", "internal/metrics", "config", "log", "controller/state", "zkstore/zkserver", "broker",
	}},
	{name: "sim", level: 6, may: []string{
		"internal/vfs", "protocol/record", "log", "replication/isr", "controller/state", "zkstore/znode", "zkstore/zktree",
	}},
	{name: "internal/tidy", level: 6, may: []string{"protocol", "config"}},

	// They talk to binaries and see nothing of the house.
	{name: "bench"},
	{name: "bench/report"},
	{name: "bench/rig"},
	{name: "cmd/jackdaw-bench", may: []string{"bench", "bench/report", "bench/rig"}},
	{name: "compat-tests/wire"},
	{name: "compat-tests/cluster", may: []string{"compat-tests/wire"}},
	{name: "compat-tests/clients", may: []string{"compat-tests/cluster"}},
	{name: "compat-tests", may: []string{"compat-tests/wire", "compat-tests/cluster", "compat-tests/clients"}},
}

// outside reports rooms that see nothing of the house but themselves.
func (r room) outside() bool {
	return strings.HasPrefix(r.name, "bench") || strings.HasPrefix(r.name, "compat-tests") || r.name == "cmd/jackdaw-bench"
}

// foundation is open to every room but those outside.
var foundation = []string{"internal/assert", "metadata"}

// outsider reports whether a directory is a room outside.
func outsider(dir string) bool {
	r, _ := findRoom(dir)
	return r.outside()
}

func findRoom(name string) (room, bool) {
	i := slices.IndexFunc(rooms, func(r room) bool { return r.name == name })
	if i < 0 {
		return room{}, false
	}
	return rooms[i], true
}

func TestLayers_EveryImport_IsInThePlan(t *testing.T) {
	tr := load(t)
	for _, f := range tr.files {
		if f.dir == "." {
			t.Errorf("%s: no Go code at the top", f.path)
			continue
		}
		r, ok := findRoom(f.dir)
		if !ok {
			t.Errorf("%s: package %s is not in the plan of internal/tidy", f.path, f.dir)
			continue
		}
		if f.test {
			continue // tests may reach for helpers; what ships may not
		}
		for _, path := range f.imports() {
			to, ours := strings.CutPrefix(path, module+"/")
			if ours && !r.allows(to) {
				t.Errorf("%s: %s may not import %s", f.path, f.dir, to)
			}
		}
	}
}

func (r room) allows(to string) bool {
	if slices.Contains(r.may, to) {
		return true
	}
	return slices.Contains(foundation, to) && !r.outside() && r.name != "internal/assert"
}

func TestLayers_ThePlan_HasNoArrowUpwards(t *testing.T) {
	for i, r := range rooms {
		for _, to := range r.may {
			j := slices.IndexFunc(rooms, func(o room) bool { return o.name == to })
			switch {
			case j < 0:
				t.Errorf("%s: no such room %s", r.name, to)
			case rooms[j].level > r.level:
				t.Errorf("%s (level %d) -> %s (level %d)", r.name, r.level, to, rooms[j].level)
			case rooms[j].level == r.level && j > i && !r.outside():
				t.Errorf("%s -> %s: on one level an arrow needs the order of the list", r.name, to)
			}
		}
	}
}

// The sentences of the design that must outlive any change of the plan.
func TestLayers_Forbidden_StaysForbidden(t *testing.T) {
	for _, no := range [][2]string{
		{"log", "replication"},
		{"replication", "zkstore"},
		{"replication", "controller"},
		{"replication", "peer"},
		{"coordinator", "replication"},
		{"coordinator/service", "replication"},
		{"controller", "log"},
		{"controller", "replication"},
		{"protocol", "protocol/record"},
		{"protocol", "log"},
	} {
		if r, _ := findRoom(no[0]); slices.Contains(r.may, no[1]) {
			t.Errorf("%s -> %s", no[0], no[1])
		}
	}
	for _, r := range rooms {
		if slices.Contains(r.may, "broker") && r.name != "cmd/jackdaw" {
			t.Errorf("%s -> broker", r.name)
		}
		if slices.Contains(r.may, "config") && !slices.Contains([]string{"broker", "cmd/jackdaw", "internal/tidy"}, r.name) {
			t.Errorf("%s -> config", r.name)
		}
	}
}
