package suite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// went is a result in which all steps up to the failing one went well.
func went(failing, facts string) *Result {
	r := &Result{Client: "client", Kind: Dynamic, Steps: map[string]Step{}, Facts: map[string]string{"state": facts}}
	for _, s := range Dynamic.Steps() {
		if s == failing {
			r.Steps[s] = Step{Err: errors.New("broken")}
			break
		}
		r.Steps[s] = Step{}
	}
	return r
}

func TestMatrixCountsWhatIsNotExplained(t *testing.T) {
	for _, c := range []struct {
		name      string
		pair      Pair
		explained string
		bad       int
		text      string
	}{
		{"both right", Pair{went("", "a"), went("", "a")}, "", 0, "ok"},
		{"only the daemon, right", Pair{Daemon: went("", "a")}, "", 0, "ok"},
		{"only the control, right", Pair{Direct: went("", "a")}, "", 0, "ok"},
		{"the last step differs", Pair{went("offsets", "a"), went("", "a")}, "", 1, "DIFF"},
		{"what comes after is not reached", Pair{went("resume", "a"), went("", "a")}, "", 3, "-"},
		{"explained", Pair{went("offsets", "a"), went("", "a")}, "client/dynamic/offsets", 0, "known"},
		{"another is explained", Pair{went("offsets", "a"), went("", "a")}, "client/static/offsets", 1, "DIFF"},
		{"without control", Pair{Daemon: went("offsets", "a")}, "", 1, "FAIL"},
		{"the control fails", Pair{went("", "a"), went("offsets", "a")}, "client/dynamic/offsets", 1, "CONTROL"},
		{"both fail", Pair{went("offsets", "a"), went("offsets", "a")}, "", 1, "CONTROL"},
		{"facts differ", Pair{went("", "a"), went("", "b")}, "", 1, "state: a; on Kafka: b"},
		{"facts differ as explained", Pair{went("", "a"), went("", "b")}, "client/dynamic/facts", 0, "state: a; on Kafka: b"},
	} {
		var out strings.Builder
		bad, err := Matrix(&out, []Pair{c.pair}, map[string]bool{c.explained: true})
		if err != nil {
			t.Fatal(err)
		}
		if bad != c.bad || !strings.Contains(out.String(), c.text) {
			t.Errorf("%s: %d differences, want %d and %q in\n%s", c.name, bad, c.bad, c.text, out.String())
		}
	}
}

func TestToolTable(t *testing.T) {
	for _, c := range []struct {
		name      string
		call      ToolCase
		explained string
		bad       int
	}{
		{"same", ToolCase{ID: "x", Direct: "a", Daemon: "a"}, "", 0},
		{"differs", ToolCase{ID: "x", Direct: "a", Daemon: "b"}, "", 1},
		{"explained", ToolCase{ID: "x", Direct: "a", Daemon: "b"}, "tools/x", 0},
		{"not what it is for", ToolCase{ID: "x", Direct: "a", Daemon: "a", Err: errors.New("broken")}, "tools/x", 1},
	} {
		var out strings.Builder
		if bad := ToolTable(&out, []ToolCase{c.call}, map[string]bool{c.explained: true}); bad != c.bad {
			t.Errorf("%s: %d, want %d\n%s", c.name, bad, c.bad, out.String())
		}
	}
}

func TestExplainedReadsThePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "divergences.md")
	got, err := Explained(file)
	if err != nil || len(got) != 0 {
		t.Fatalf("no page explains nothing: %v, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("### D9: late (`interop:kcat/dynamic/leave`, interop:tools/groups-list)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err = Explained(file); err != nil || len(got) != 2 || !got["kcat/dynamic/leave"] || !got["tools/groups-list"] {
		t.Errorf("%v, %v", got, err)
	}
}

func TestNormaliseKeepsWhatMatters(t *testing.T) {
	a := "GROUP   COORDINATOR (ID)\ntools   127.0.0.1:26665  (1)\n m-0f9d4e2a-1c2b-4d5e-8f90-aabbccddeeff \nexit status 0\n"
	b := "m-11111111-2222-3333-4444-555555555555\nGROUP COORDINATOR (ID)\ntools 127.0.0.1:1  (1)\n\tat Some.frame\nexit status 0\n"
	if normalise(a) != normalise(b) {
		t.Errorf("%q\n%q", normalise(a), normalise(b))
	}
	for _, other := range []string{strings.Replace(b, "(1)", "(2)", 1), strings.Replace(b, "status 0", "status 1", 1), strings.Replace(b, "tools", "other", 1)} {
		if normalise(a) == normalise(other) {
			t.Errorf("%q counts as the same as %q", other, a)
		}
	}
}
