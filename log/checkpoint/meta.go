package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"jackdaw/internal/vfs"
)

// MetaProperties is the file that ties a log directory to a broker and a cluster.
const MetaProperties = "meta.properties"

// Meta is its content in ZooKeeper mode. Kafka: MetaProperties, version 0.
type Meta struct {
	// BrokerID is -1 when the file does not say.
	BrokerID int32
	// ClusterID is empty when the file does not say.
	ClusterID string
}

// EncodeMeta returns the content of meta.properties, with the date comment that Java puts there.
func EncodeMeta(m Meta, now time.Time) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#\n#%s\n", now.UTC().Format("Mon Jan 02 15:04:05 MST 2006"))
	fmt.Fprintf(&b, "broker.id=%d\nversion=0\ncluster.id=%s\n", m.BrokerID, m.ClusterID)
	return []byte(b.String())
}

// DecodeMeta reads meta.properties of version 0 or, where it names a node, 1.
func DecodeMeta(b []byte) (Meta, error) {
	m := Meta{BrokerID: -1}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if err := m.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return Meta{}, err
		}
	}
	return m, nil
}

// set takes one property; unknown ones are ignored.
func (m *Meta) set(key, value string) error {
	switch key {
	case "broker.id", "node.id":
		id, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return fmt.Errorf("%s %q", key, value)
		}
		m.BrokerID = int32(id)
	case "cluster.id":
		m.ClusterID = value
	case "version":
		if value != "0" && value != "1" {
			return fmt.Errorf("unknown version %q", value)
		}
	}
	return nil
}

// ReadMeta reads meta.properties of a log directory; ok is false when there is none.
func ReadMeta(fsys vfs.FS, dir string) (m Meta, ok bool, err error) {
	path := filepath.Join(dir, MetaProperties)
	b, err := vfs.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return Meta{}, false, nil
	}
	if err != nil {
		return Meta{}, false, err
	}
	if m, err = DecodeMeta(b); err != nil {
		return Meta{}, false, &CorruptError{Path: path, Reason: err.Error()}
	}
	return m, true, nil
}

// WriteMeta replaces meta.properties of a log directory.
func WriteMeta(fsys vfs.FS, dir string, m Meta, now time.Time) error {
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, MetaProperties), EncodeMeta(m, now))
}
