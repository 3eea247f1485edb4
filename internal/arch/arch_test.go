package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/coordinatord/coordinatord"

// allowed says which of our packages a package may import. A package that is not listed here fails the test: a new one
// takes a deliberate line. The order is that of the flow in docs/architecture.md.
var allowed = map[string][]string{
	"keyrange":                     {},
	"group":                        {},
	"wire":                         {},
	"raftstore":                    {},
	"protocol":                     {"group"},
	"gateway":                      {"wire"},
	"internal/coordinator":         {"group", "protocol"},
	"internal/httpapi":             {},
	"internal/daemon":              {"gateway", "group", "internal/coordinator", "internal/httpapi", "raftstore", "wire"},
	"internal/arch":                {},
	"internal/realkafka":           {},
	"internal/realkafka/cmd/kafka": {"internal/realkafka"},
	"internal/proc":                {"internal/realkafka"},
	"internal/load":                {},
	"internal/abuse":               {"internal/load", "internal/proc", "internal/realkafka"},
	"internal/crash":               {"internal/load", "internal/proc", "internal/realkafka"},
	"internal/bench":               {"internal/load", "internal/proc", "internal/realkafka"},
	"cmd/coordinatord":             {"gateway", "internal/daemon", "internal/httpapi", "protocol", "group", "raftstore", "wire"},
}

// pure lists the packages that hold no goroutine, channel, clock, randomness or I/O.
var pure = []string{"group", "keyrange"}

// pureImports is all that the pure packages may import from outside the module.
var pureImports = []string{
	"bytes", "cmp", "container/heap", "encoding/binary", "errors", "fmt", "hash", "hash/fnv", "hash/maphash", "iter", "maps", "math", "math/bits",
	"slices", "sort", "strconv", "strings", "time", "unicode/utf16", "unicode/utf8", "unsafe",
}

// pureImportsOf adds to pureImports for one package.
var pureImportsOf = map[string][]string{"keyrange": {"github.com/cespare/xxhash/v2"}}

type pkg struct {
	ImportPath  string
	Name        string
	Doc         string
	Imports     []string
	GoFiles     []string
	TestGoFiles []string
	Dir         string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json", module+"/...")
	cmd.Dir = "../.."
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var pkgs []pkg
	for dec := json.NewDecoder(out); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		pkgs = append(pkgs, p)
	}
	require.NoError(t, cmd.Wait())
	require.NotEmpty(t, pkgs)
	return pkgs
}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		may, listed := allowed[name]
		if !listed {
			t.Errorf("%s is not in the table of allowed imports", name)
			continue
		}
		for _, imp := range p.Imports {
			of, ours := strings.CutPrefix(imp, module+"/")
			if ours && !slices.Contains(may, of) {
				t.Errorf("%s imports %s", name, of)
			}
		}
	}
}

func TestPurePackagesImportNothingImpure(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if !slices.Contains(pure, name) {
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) && !slices.Contains(pureImports, imp) && !slices.Contains(pureImportsOf[name], imp) {
				t.Errorf("%s imports %s", name, imp)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}
