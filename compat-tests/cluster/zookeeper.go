package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ZooKeeperKind says which coordination server a cluster uses.
type ZooKeeperKind string

// The coordination servers.
const (
	RealZooKeeper ZooKeeperKind = "zookeeper" // Apache ZooKeeper out of the Kafka jars
	Embedded      ZooKeeperKind = "embedded"  // `jackdaw zookeeper`
)

// ZooKeeper is one coordination server process.
type ZooKeeper struct {
	*Process
	Kind ZooKeeperKind
	Dir  string
	port *Port
}

// Addr is where clients connect.
func (z *ZooKeeper) Addr() string { return z.port.Addr() }

// StartZooKeeper starts a server with its data and log below dir and waits until it answers.
func StartZooKeeper(kind ZooKeeperKind, dir string) (*ZooKeeper, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	port, err := ReservePort()
	if err != nil {
		return nil, err
	}
	z := &ZooKeeper{Kind: kind, Dir: dir, port: port}
	if kind == Embedded {
		err = z.embedded()
	} else {
		err = z.real()
	}
	if err == nil {
		err = z.Start()
	}
	if err != nil {
		port.Release()
		return nil, err
	}
	return z, nil
}

// Start runs the server (again) and waits until it answers.
func (z *ZooKeeper) Start() error {
	if err := z.Process.Start(); err != nil {
		return err
	}
	err := Until(60*time.Second, func() error {
		if !z.Running() {
			return Stop(fmt.Errorf("%s ended:\n%s", z.Name, z.Tail(30)))
		}
		return z.ask("srvr", "Zookeeper version")
	})
	if err != nil {
		return errors.Join(err, z.Kill())
	}
	return nil
}

// Close ends the server and gives its port back.
func (z *ZooKeeper) Close() error {
	err := z.Kill()
	z.port.Release()
	return err
}

// real prepares Apache ZooKeeper with short ticks, so that sessions may be as short as one second.
func (z *ZooKeeper) real() error {
	config := fmt.Sprintf("dataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\ntickTime=500\n"+
		"maxSessionTimeout=60000\nadmin.enableServer=false\n4lw.commands.whitelist=*\n",
		filepath.Join(z.Dir, "data"), z.port.Number)
	if err := os.WriteFile(filepath.Join(z.Dir, "zoo.cfg"), []byte(config), 0o644); err != nil {
		return err
	}
	log4j := filepath.Join(z.Dir, "log4j")
	if err := writeLog4j(log4j, "INFO"); err != nil {
		return err
	}
	path, line, err := java(log4j, []string{"-Xmx256m"},
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(z.Dir, "zoo.cfg"))
	if err != nil {
		return err
	}
	z.Process = newProcess("zookeeper", z.Dir, path, line...)
	return nil
}

func (z *ZooKeeper) embedded() error {
	path, err := Binary()
	if err != nil {
		return err
	}
	z.Process = newProcess("jackdaw zookeeper", z.Dir, path, "zookeeper",
		"--port", fmt.Sprint(z.port.Number), "--data", filepath.Join(z.Dir, "data"))
	return nil
}

// ask sends a four-letter word and expects text in the answer.
func (z *ZooKeeper) ask(word, text string) error {
	answer, err := FourLetterWord(z.Addr(), word)
	if err != nil {
		return err
	}
	if len(answer) < len(text) || answer[:len(text)] != text {
		return fmt.Errorf("%s answers %q to %s", z.Name, answer, word)
	}
	return nil
}

// FourLetterWord sends one of ZooKeeper's four-letter words and returns the answer.
func FourLetterWord(addr, word string) (string, error) {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return "", err
	}
	if _, err := c.Write([]byte(word)); err != nil {
		return "", err
	}
	return readAll(c)
}

var shared struct {
	sync.Mutex
	zookeeper *ZooKeeper
	chroots   int
}

// sharedZooKeeper returns the server that all clusters of this test binary use, and a chroot nobody else has.
func sharedZooKeeper() (z *ZooKeeper, chroot string, err error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.zookeeper == nil {
		dir, err := scratch()
		if err != nil {
			return nil, "", err
		}
		if shared.zookeeper, err = StartZooKeeper(RealZooKeeper, filepath.Join(dir, "zookeeper")); err != nil {
			return nil, "", err
		}
	}
	shared.chroots++
	return shared.zookeeper, fmt.Sprintf("/compat-%d", shared.chroots), nil
}

// CloseShared ends what is shared by the tests of one binary; TestMain calls it last.
func CloseShared() error {
	shared.Lock()
	defer shared.Unlock()
	var err error
	if shared.zookeeper != nil {
		err = shared.zookeeper.Close()
		shared.zookeeper = nil
	}
	dir, dirErr := scratch()
	return errors.Join(err, dirErr, os.RemoveAll(dir))
}
