package main

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// docs/operations.md names every setting with its default, every metric and every path, and no others.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	page := string(text)

	rows := make(map[string]string) // flag → default
	for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z.-]+)` \\| ([^|]*?) ?\\|").FindAllStringSubmatch(page, -1) {
		rows[m[1]] = m[2]
	}
	a := &app{}
	flags := make(map[string]*pflag.Flag)
	for _, cmd := range a.rootCommand().Commands() {
		if cmd.Annotations[runsDaemon] != "" {
			cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = f })
		}
	}
	for name, f := range flags {
		if name == "output" || name == "timeout" { // of check, as of the operator's commands
			continue
		}
		row, ok := rows[name]
		require.True(t, ok, "--%s has no row", name)
		if strings.Contains(f.Usage, "(default ") {
			require.Contains(t, f.Usage, "(default "+row, "--%s", name)
		} else if f.DefValue != "" && name != "data-dir" {
			require.Contains(t, []string{f.DefValue, "`" + f.DefValue + "`"}, row, "--%s", name)
		}
	}
	for name := range rows {
		require.Contains(t, flags, name, "a row for a flag that is not there")
	}

	d := start(t, append([]string{"dev", "--data-dir", t.TempDir(), "--topics", "t:1"}, freePorts(t, 1).args()...)...)
	// A metric with labels appears with its first use.
	produce(t, d.bootstrap, "t", 0, 1)
	consumeGroup(t, d.bootstrap, "g", "t", 1)
	_, metrics := d.get("/metrics")
	for _, m := range regexp.MustCompile(`(?m)^# HELP (coordinatord_\w+)`).FindAllStringSubmatch(metrics, -1) {
		if !strings.Contains(page, "`"+m[1]) {
			t.Errorf("%s is not described", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`(coordinatord_\\w+?)[`{]").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(metrics, "# HELP "+m[1]+" ") {
			t.Errorf("%s is not there", m[1])
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/v1/cluster", "/v1/kafka", "/v1/groups", "/v1/groups/g"} {
		status, _ := d.get(path)
		require.Contains(t, []int{http.StatusOK, http.StatusNotFound}, status)
		require.Contains(t, page, "\n| `"+regexp.MustCompile(`/g$`).ReplaceAllString(path, "/{group}")+"` |")
	}
}
