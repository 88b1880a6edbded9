package zktree

import "strings"

// ValidPath reports whether ZooKeeper takes the path: absolute, no empty, "." or ".." component, no trailing slash but
// for the root itself, no control or non-character. ZooKeeper: PathUtils.validatePath.
func ValidPath(path string) bool {
	if path == "/" {
		return true
	}
	if !strings.HasPrefix(path, "/") {
		return false
	}
	for _, part := range strings.Split(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return !strings.ContainsFunc(path, badRune)
}

// badRune is true for what may not be in a path.
func badRune(r rune) bool {
	return r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 && r <= 0xffff
}

// split cuts a valid path other than the root into parent and name.
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i == 0 {
		return "/", path[1:]
	}
	return path[:i], path[i+1:]
}
