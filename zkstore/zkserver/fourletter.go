package zkserver

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// The version that clients are told: the protocol is that of ZooKeeper 3.8. Tools parse the date, which is that release's.
const (
	serverVersion = "3.8.4-jackdaw"
	serverDate    = "2024-02-12 22:16 UTC"
)

// stats are the numbers of the four-letter commands.
type stats struct {
	start          time.Time
	received, sent atomic.Int64
	// Latencies are of the work under the lock, in microseconds.
	latencySum, latencyMax atomic.Int64
	snapshotting           atomic.Bool
}

func (st *stats) latency(d time.Duration) {
	us := d.Microseconds()
	st.latencySum.Add(us)
	for {
		most := st.latencyMax.Load()
		if us <= most || st.latencyMax.CompareAndSwap(most, us) {
			return
		}
	}
}

// fourLetter recognizes a command in the place of a length. ZooKeeper: FourLetterCommands.
func fourLetter(head [4]byte) (cmd string, ok bool) {
	cmd = string(head[:])
	switch cmd {
	case "ruok", "srvr", "stat", "mntr", "isro", "conf", "envi", "cons", "dump", "wchs", "wchc", "wchp", "crst", "srst", "dirs", "hash":
		return cmd, true
	default:
		return "", false
	}
}

// answer gives the text of a command. Like ZooKeeper, the server serves only some of those that exist.
func (s *Server) answer(cmd string) []byte {
	switch cmd {
	case "ruok":
		return []byte("imok")
	case "isro":
		return []byte("rw")
	case "srvr":
		return []byte(s.srvr())
	case "stat":
		return []byte(s.stat())
	case "mntr":
		return []byte(s.mntr())
	default:
		return fmt.Appendf(nil, "%s is not executed because it is not in the whitelist.\n", cmd)
	}
}

// numbers are taken under the lock, at once.
type numbers struct {
	zxid                         int64
	nodes, ephemerals, watches   int
	conns, outstanding, sessions int
	dataBytes                    int64
	minMs, avgMs, maxMs          float64
	received, sent               int64
}

func (s *Server) numbers() numbers {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mu.tree.Counts()
	n := numbers{
		zxid: s.mu.tree.Zxid(), nodes: c.Nodes, ephemerals: c.Ephemerals, watches: c.Watches, sessions: c.Sessions,
		dataBytes: c.DataBytes, conns: len(s.mu.conns), outstanding: len(s.mu.gated),
		received: s.stats.received.Load(), sent: s.stats.sent.Load(),
		maxMs: float64(s.stats.latencyMax.Load()) / 1000,
	}
	if n.received > 0 {
		n.avgMs = float64(s.stats.latencySum.Load()) / 1000 / float64(n.received)
	}
	return n
}

func (n numbers) text() string {
	return fmt.Sprintf("Latency min/avg/max: %d/%.4f/%d\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: %d\nZxid: 0x%x\nMode: standalone\nNode count: %d\n",
		int64(n.minMs), n.avgMs, int64(n.maxMs), n.received, n.sent, n.conns, n.outstanding, n.zxid, n.nodes)
}

func versionLine() string {
	return "Zookeeper version: " + serverVersion + ", built on " + serverDate + "\n"
}

func (s *Server) srvr() string { return versionLine() + s.numbers().text() }

// stat is srvr with a list of clients.
func (s *Server) stat() string {
	var b strings.Builder
	b.WriteString(versionLine() + "Clients:\n")
	s.mu.Lock()
	for _, c := range s.mu.conns {
		fmt.Fprintf(&b, " /%s[%d](queued=0,recved=0,sent=0)\n", c.nc.RemoteAddr(), c.id)
	}
	s.mu.Unlock()
	return b.String() + "\n" + s.numbers().text()
}

func (s *Server) mntr() string {
	n := s.numbers()
	var b strings.Builder
	row := func(key string, value any) { fmt.Fprintf(&b, "zk_%s\t%v\n", key, value) }
	row("version", serverVersion)
	row("server_state", "standalone")
	row("uptime", s.opts.Now().Sub(s.stats.start).Milliseconds())
	row("avg_latency", fmt.Sprintf("%.4f", n.avgMs))
	row("max_latency", int64(n.maxMs))
	row("min_latency", int64(n.minMs))
	row("packets_received", n.received)
	row("packets_sent", n.sent)
	row("num_alive_connections", n.conns)
	row("outstanding_requests", n.outstanding)
	row("znode_count", n.nodes)
	row("watch_count", n.watches)
	row("ephemerals_count", n.ephemerals)
	row("approximate_data_size", n.dataBytes)
	row("global_sessions", n.sessions)
	return b.String()
}
