package arch

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// forbiddenCalls are functions of allowed packages that read the outside world.
var forbiddenCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// mapOrderMark is what the comment above a range over a map must say: the author collects and sorts, or adds up.
const mapOrderMark = "order is not seen"

func TestPurePackagesHoldNoGoroutineChannelClockOrMapOrder(t *testing.T) {
	for _, name := range pure {
		t.Run(name, func(t *testing.T) {
			findings := impurities(t, filepath.Join("..", "..", filepath.FromSlash(name)))
			for _, f := range findings {
				t.Error(f)
			}
		})
	}
}

func TestImpuritiesAreSeen(t *testing.T) {
	require.Len(t, impurities(t, filepath.Join("testdata", "impure")), 6)
}

// exports finds what the compiler has written of the packages that the one in dir imports.
func exports(t *testing.T, dir string) importer.Lookup {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", ".")
	cmd.Dir = dir
	out, err := cmd.Output()
	require.NoError(t, err)
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

func impurities(t *testing.T, dir string) []string {
	t.Helper()
	bp, err := build.ImportDir(dir, 0)
	require.NoError(t, err)
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range bp.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", exports(t, dir))}
	_, err = conf.Check(dir, fset, files, info)
	require.NoError(t, err)

	var found []string
	report := func(n ast.Node, what string) { found = append(found, fset.Position(n.Pos()).String()+": "+what) }
	for _, f := range files {
		explained := map[int]bool{}
		for _, group := range f.Comments {
			if strings.Contains(group.Text(), mapOrderMark) {
				explained[fset.Position(group.End()).Line] = true
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				report(n, "a goroutine")
			case *ast.SelectStmt:
				report(n, "a select")
			case *ast.ChanType:
				report(n, "a channel")
			case *ast.RangeStmt:
				line := fset.Position(n.Pos()).Line
				if _, isMap := info.TypeOf(n.X).Underlying().(*types.Map); isMap && !explained[line-1] && !explained[line] {
					report(n, "a range over a map without a comment that its "+mapOrderMark)
				}
			case *ast.SelectorExpr:
				obj := info.Uses[n.Sel]
				if fn, ok := obj.(*types.Func); ok && fn.Pkg() != nil && fn.Signature().Recv() == nil &&
					slices.Contains(forbiddenCalls[fn.Pkg().Path()], fn.Name()) {
					report(n, "a call of "+fn.FullName())
				}
			}
			return true
		})
	}
	return found
}
