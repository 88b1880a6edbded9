package epoch

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
)

// FileName is the name in a partition's directory.
const FileName = "leader-epoch-checkpoint"

// CorruptError tells that the file cannot be read as a history.
type CorruptError struct {
	Path   string
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string { return fmt.Sprintf("corrupt %s: %s", e.Path, e.Reason) }

// Encode returns the content of the file: version 0, the number of entries, and "epoch start" in a line each.
func Encode(entries []Entry) []byte {
	b := append([]byte("0\n"), strconv.Itoa(len(entries))...)
	b = append(b, '\n')
	for _, e := range entries {
		b = strconv.AppendInt(b, int64(e.Epoch), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.Start, 10)
		b = append(b, '\n')
	}
	return b
}

// Decode reads what Encode wrote.
func Decode(b []byte) ([]Entry, error) {
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) < 2 || lines[0] != "0" {
		return nil, errors.New("no version 0 and count")
	}
	n, err := strconv.Atoi(lines[1])
	if err != nil || n != len(lines)-2 {
		return nil, fmt.Errorf("count %q with %d entries", lines[1], len(lines)-2)
	}
	out := make([]Entry, 0, n)
	for _, line := range lines[2:] {
		e, ok := decodeLine(line)
		if !ok {
			return nil, fmt.Errorf("entry %q", line)
		}
		out = append(out, e)
	}
	return out, nil
}

func decodeLine(line string) (Entry, bool) {
	a, b, ok := strings.Cut(line, " ")
	ep, err1 := strconv.ParseInt(a, 10, 32)
	start, err2 := strconv.ParseInt(b, 10, 64)
	return Entry{metadata.LeaderEpoch(ep), start}, ok && err1 == nil && err2 == nil && ep >= 0 && start >= 0
}

// read loads the file; a missing one is empty.
func read(fsys vfs.FS, path string) ([]Entry, error) {
	b, err := vfs.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := Decode(b)
	if err != nil {
		return nil, &CorruptError{Path: path, Reason: err.Error()}
	}
	return entries, nil
}
