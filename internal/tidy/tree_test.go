package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the module's path in go.mod.
const module = "jackdaw"

// root is the top of the repository, seen from this package.
const root = "../.."

// file is one parsed Go file.
type file struct {
	// path and dir are relative to the root, with slashes. dir is "." at the root.
	path, dir string
	test      bool
	syntax    *ast.File
}

// tree is the repository's Go code.
type tree struct {
	fset  *token.FileSet
	files []file
}

// load parses every Go file below the root, but for hidden and build directories and testdata.
func load(t *testing.T) tree {
	t.Helper()
	tr := tree{fset: token.NewFileSet()}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "data", "testdata"}, d.Name())) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		syntax, err := parser.ParseFile(tr.fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		tr.files = append(tr.files, file{rel, filepath.ToSlash(filepath.Dir(rel)), strings.HasSuffix(rel, "_test.go"), syntax})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// at names a place for a message.
func (tr tree) at(n ast.Node) string {
	p := tr.fset.Position(n.Pos())
	rel, err := filepath.Rel(root, p.Filename)
	if err != nil {
		rel = p.Filename
	}
	return rel + ":" + strconv.Itoa(p.Line)
}

// imports returns the import paths of a file.
func (f file) imports() []string {
	var out []string
	for _, i := range f.syntax.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil {
			out = append(out, path)
		}
	}
	return out
}

// selector returns "pkg.Name" for a call or use of a name of another package, "" for anything else.
func selector(n ast.Node) string {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return x.Name + "." + s.Sel.Name
}
