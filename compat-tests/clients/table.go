package clients

import (
	"os"
	"os/exec"
	"path/filepath"

	"jackdaw/compat-tests/cluster"
)

// Client is a client library and what it can do.
type Client struct {
	Name string // with the version

	Cooperative bool // has the cooperative-sticky assignor, KIP-429
	Static      bool // has static membership, KIP-345
	Async       bool // has a commit whose answer comes by a callback
	Seek        bool // can move a member of a group to another position
	SendOffsets bool // commits offsets in a transaction by a consumer and a producer that are apart; franz-go has them in one

	// command prepares a driver; dir is there for what it needs.
	command func(dir, bootstrap string) (*exec.Cmd, error)
}

// All are the clients that the matrix knows. Every one has all codecs, idempotence and transactions.
var All = []Client{
	{Name: "franz-go", Cooperative: true, Static: true, Async: true, Seek: true, command: golang("franz-go")},
	{Name: "sarama", Static: true, SendOffsets: true, command: golang("sarama")},
	{Name: "java-3.9.2", Cooperative: true, Static: true, Async: true, Seek: true, SendOffsets: true, command: java(cluster.Jars, "3.9.2")},
	{Name: "java-4.4.0", Cooperative: true, Static: true, Async: true, Seek: true, SendOffsets: true, command: java(cluster.Jars4, "4.4.0")},
	{Name: "confluent-kafka", Cooperative: true, Static: true, Async: true, Seek: true, SendOffsets: true, command: python("confluent.py")},
	{Name: "kafka-python", Cooperative: true, Static: true, Async: true, Seek: true, SendOffsets: true, command: python("kafkapython.py")},
	{Name: "aiokafka", Static: true, Seek: true, SendOffsets: true, command: python("aio.py")},
	{Name: "kafkajs", Seek: true, SendOffsets: true, command: node},
}

// Start runs a driver. Its files go below dir.
func (c Client) Start(dir, name, bootstrap string) (*Driver, error) {
	cmd, err := c.command(dir, bootstrap)
	if err != nil {
		return nil, err
	}
	return start(cmd, filepath.Join(dir, name+".log"))
}

// golang is a driver in the test binary itself: its TestMain calls Main.
func golang(name string) func(string, string) (*exec.Cmd, error) {
	return func(_, bootstrap string) (*exec.Cmd, error) {
		path, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := command(path, bootstrap)
		cmd.Env = append(os.Environ(), mainVariable+"="+name)
		return cmd, nil
	}
}

func python(script string) func(string, string) (*exec.Cmd, error) {
	return func(_, bootstrap string) (*exec.Cmd, error) {
		path := filepath.Join(cluster.CacheDir(), "clients-python", "bin", "python")
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
		return command(path, "-B", filepath.Join("clients", script), bootstrap), nil
	}
}

func node(_, bootstrap string) (*exec.Cmd, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	modules := filepath.Join(cluster.CacheDir(), "clients-node", "node_modules")
	if _, err := os.Stat(modules); err != nil {
		return nil, err
	}
	cmd := command(path, filepath.Join("clients", "kafkajs.js"), bootstrap)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	return cmd, nil
}
