package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

const (
	configFlag     = "config"
	envPrefix      = "COORDINATORD_"
	maxConfigBytes = 1 << 20
)

// Annotations of flags.
const (
	commandLineOnly = "coordinatord_command_line_only" // neither environment nor file may set it: it says to act
	secret          = "coordinatord_secret"            // never logged
)

// kubernetesLink matches what Kubernetes puts into every container's environment for a service whose name begins with
// "coordinatord"; no setting has such a name.
var kubernetesLink = regexp.MustCompile(`^COORDINATORD_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_(TCP|UDP|SCTP)(_.*)?)?)$`)

// applySettings sets the flags of cmd that the command line has not set, from the environment and then from the file.
// A name that no command knows is an error wherever it stands. The environment may hold settings of other commands (a
// daemon's container is where its operator calls status), and so may the file for the operator's commands.
func (a *app) applySettings(cmd *cobra.Command) error {
	if !cmd.HasParent() || cmd.Name() == "help" || cmd.Parent().Name() == "completion" {
		return nil
	}
	known := make(map[string]bool) // name → a flag of some command
	walk(cmd.Root(), func(f *pflag.Flag) { known[f.Name] = true })

	set := make(map[string]bool)
	cmd.Flags().Visit(func(f *pflag.Flag) { set[f.Name] = true })
	if err := a.applyEnvironment(cmd, known, set); err != nil {
		return err
	}
	path := cmd.Flags().Lookup(configFlag).Value.String()
	if path == "" {
		return nil
	}
	return applyFile(cmd, path, known, set)
}

func walk(cmd *cobra.Command, f func(*pflag.Flag)) {
	visit := func(flag *pflag.Flag) {
		if flag.Name != "help" && flag.Annotations[commandLineOnly] == nil {
			f(flag)
		}
	}
	cmd.Flags().VisitAll(visit)
	cmd.PersistentFlags().VisitAll(visit)
	for _, c := range cmd.Commands() {
		if c.Name() != "completion" && c.Name() != "help" {
			walk(c, f)
		}
	}
}

// envName is the variable of a flag.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(flag))
}

func (a *app) applyEnvironment(cmd *cobra.Command, known, set map[string]bool) error {
	names := make(map[string]string, len(known)) // variable → flag
	for name := range known {
		names[envName(name)] = name
	}
	for _, kv := range a.env {
		key, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(key, envPrefix) {
			continue
		}
		name, ok := names[key]
		if !ok {
			if kubernetesLink.MatchString(key) {
				continue
			}
			return usagef("%s is set in the environment, but there is no such setting%s", key, similar(key, names))
		}
		flag := cmd.Flags().Lookup(name)
		if flag == nil || set[name] {
			continue
		}
		if err := cmd.Flags().Set(name, value); err != nil {
			return usagef("%s=%s: %s", key, shown(flag, value), cause(err))
		}
		set[name] = true
	}
	return nil
}

func applyFile(cmd *cobra.Command, path string, known, set map[string]bool) error {
	settings, err := readFile(path)
	if err != nil {
		return err
	}
	for _, s := range settings {
		flag := cmd.Flags().Lookup(s.key)
		switch {
		case !known[s.key] || s.key == configFlag:
			return usagef("%s:%d: unknown key %q", path, s.line, s.key)
		case flag == nil && cmd.Annotations[runsDaemon] != "":
			return usagef("%s:%d: key %q does not belong to %s", path, s.line, s.key, cmd.CommandPath())
		case flag == nil || set[s.key]:
			continue
		}
		if err := cmd.Flags().Set(s.key, s.value); err != nil {
			return usagef("%s:%d: %s: %s: %s", path, s.line, s.key, shown(flag, s.value), cause(err))
		}
	}
	return nil
}

// setting is one key of the file.
type setting struct {
	key, value string
	line       int
}

// readFile reads the keys of a YAML file in their order. A key may be written whole (group.max.size: 100) or nested at its
// dots; a list is joined with commas, as the flag takes it.
func readFile(path string) ([]setting, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("--%s: %w", configFlag, err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, usagef("--%s: %w", configFlag, err)
	}
	if len(text) > maxConfigBytes {
		return nil, usagef("--%s: %s is larger than %d bytes", configFlag, path, maxConfigBytes)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, usagef("%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, nil // an empty file, or comments only
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, usagef("%s:%d: settings are written as key: value", path, doc.Content[0].Line)
	}
	var out []setting
	if err := flatten(path, "", doc.Content[0], &out); err != nil {
		return nil, err
	}
	seen := make(map[string]int, len(out))
	for _, s := range out {
		if first, twice := seen[s.key]; twice {
			return nil, usagef("%s:%d: key %q is set already in line %d", path, s.line, s.key, first)
		}
		seen[s.key] = s.line
	}
	return out, nil
}

func flatten(path, prefix string, m *yaml.Node, out *[]setting) error {
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		key := prefix + k.Value
		switch {
		case k.Kind != yaml.ScalarNode:
			return usagef("%s:%d: a key is a name", path, k.Line)
		case v.Kind == yaml.MappingNode:
			if err := flatten(path, key+".", v, out); err != nil {
				return err
			}
			continue
		case v.Kind == yaml.ScalarNode && v.Tag == "!!null":
			return usagef("%s:%d: key %q has no value", path, k.Line, key)
		case v.Kind == yaml.ScalarNode:
			*out = append(*out, setting{key, v.Value, k.Line})
		case v.Kind == yaml.SequenceNode:
			items := make([]string, 0, len(v.Content))
			for _, item := range v.Content {
				if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
					return usagef("%s:%d: key %q is a list of something else than plain values", path, item.Line, key)
				}
				items = append(items, item.Value)
			}
			*out = append(*out, setting{key, strings.Join(items, ","), k.Line})
		default:
			return usagef("%s:%d: key %q has a value that cannot be used (aliases are not followed)", path, k.Line, key)
		}
	}
	return nil
}

// cause drops pflag's own words about the flag: the caller names the variable or the key.
func cause(err error) string {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalid.Unwrap().Error()
	}
	return err.Error()
}

func shown(f *pflag.Flag, value string) string {
	if f.Annotations[secret] != nil {
		return "(secret)"
	}
	return fmt.Sprintf("%q", value)
}

// similar suggests the variable that differs least, if one is close.
func similar(key string, names map[string]string) string {
	best, at := "", 4
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	for _, n := range sorted {
		if d := distance(key, n); d < at {
			best, at = n, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the number of bytes to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
