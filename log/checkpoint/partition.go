package checkpoint

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
)

// PartitionMetadata is the file that tells a partition's topic id.
const PartitionMetadata = "partition.metadata"

// ReadTopicID reads partition.metadata of a partition's directory; the zero id when there is none.
// Kafka: PartitionMetadataFile.
func ReadTopicID(fsys vfs.FS, dir string) (metadata.TopicID, error) {
	path := filepath.Join(dir, PartitionMetadata)
	b, err := vfs.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return metadata.TopicID{}, nil
	}
	if err != nil {
		return metadata.TopicID{}, err
	}
	return decodeTopicID(path, string(b))
}

func decodeTopicID(path, content string) (metadata.TopicID, error) {
	lines := strings.Split(strings.TrimSpace(content), "\n")
	if len(lines) != 2 || strings.TrimSpace(lines[0]) != "version: 0" {
		return metadata.TopicID{}, &CorruptError{Path: path, Reason: "no version 0 and topic id"}
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(lines[1]), "topic_id: ")
	if !ok {
		return metadata.TopicID{}, &CorruptError{Path: path, Reason: "no topic id"}
	}
	id, err := metadata.ParseTopicID(text)
	if err != nil {
		return metadata.TopicID{}, &CorruptError{Path: path, Reason: err.Error()}
	}
	return id, nil
}

// EncodeTopicID returns the content of partition.metadata.
func EncodeTopicID(id metadata.TopicID) []byte {
	return []byte("version: 0\ntopic_id: " + id.String())
}

// WriteTopicID replaces partition.metadata of a partition's directory.
func WriteTopicID(fsys vfs.FS, dir string, id metadata.TopicID) error {
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, PartitionMetadata), EncodeTopicID(id))
}
