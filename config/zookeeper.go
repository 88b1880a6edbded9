package config

import (
	"net"
	"strconv"
	"strings"
	"time"
)

// ZooKeeper says where the cluster's metadata is.
type ZooKeeper struct {
	// Servers are host:port; empty when Embedded.
	Servers []string
	// Chroot is "" or begins with a slash and does not end with one.
	Chroot string
	// Embedded asks for a server inside this process, on 127.0.0.1 and EmbeddedPort (0 takes any free one).
	Embedded     bool
	EmbeddedPort int
	// EmbeddedDir is where that server keeps its data.
	EmbeddedDir string
	// SessionTimeout is how soon a dead broker is noticed; ConnectTimeout bounds the first connection.
	SessionTimeout time.Duration
	ConnectTimeout time.Duration
	MaxInFlight    int
}

const embedded = "embedded"

// defaultPort is ZooKeeper's, for servers without one.
const defaultPort = "2181"

// parseConnect reads zookeeper.connect. Kafka and ZooKeeper: ConnectStringParser.
func parseConnect(text string) (ZooKeeper, error) {
	fault := func(format string, args ...any) (ZooKeeper, error) {
		return ZooKeeper{}, refuse(required, "Invalid value "+text+" for configuration "+required+": "+format, args...)
	}
	if text == "" {
		return fault("it names no server")
	}
	if rest, ok := strings.CutPrefix(text, embedded); ok && (rest == "" || rest[0] == ':') {
		port, err := uint64(0), error(nil)
		if rest != "" {
			port, err = strconv.ParseUint(rest[1:], 10, 16)
		}
		if err != nil {
			return fault("%q is not a port", rest[1:])
		}
		return ZooKeeper{Embedded: true, EmbeddedPort: int(port)}, nil
	}
	hosts, chroot := text, ""
	if i := strings.IndexByte(text, '/'); i >= 0 {
		hosts, chroot = text[:i], strings.TrimRight(text[i:], "/")
	}
	if strings.Contains(chroot, "//") {
		return fault("chroot %q has an empty part", chroot)
	}
	z := ZooKeeper{Chroot: chroot}
	for _, s := range splitList(hosts) {
		server, ok := withPort(s)
		if !ok {
			return fault("%q is not host:port", s)
		}
		z.Servers = append(z.Servers, server)
	}
	if len(z.Servers) == 0 {
		return fault("it names no server")
	}
	return z, nil
}

// withPort normalises host:port, host and [ipv6]:port.
func withPort(s string) (string, bool) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.Trim(s, "[]"), defaultPort
		if strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return "", false
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
		return "", false
	}
	return net.JoinHostPort(host, port), true
}
