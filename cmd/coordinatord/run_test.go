package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// result is what one command line did.
type result struct {
	code           int
	stdout, stderr string
}

func runCommand(t *testing.T, env []string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, env, strings.NewReader(""), &out, &errs)
	return result{code, out.String(), errs.String()}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coordinatord.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Every usage error exits 2 and names what is wrong as the operator wrote it.
func TestUsageErrors(t *testing.T) {
	serve := []string{"serve", "--data-dir", "/nonexistent/x", "--kafka-brokers", "127.0.0.1:1"}
	with := func(extra ...string) []string { return append(append([]string{}, serve...), extra...) }
	empty := writeFile(t, "")
	for name, tc := range map[string]struct {
		args []string
		env  []string
		want []string // each is in the message
	}{
		"unknown command":           {[]string{"server"}, nil, []string{`"server"`}},
		"unknown flag":              {with("--nodeid=1"), nil, []string{"--nodeid"}},
		"argument":                  {with("more"), nil, []string{`"more"`}},
		"no data dir":               {[]string{"serve", "--kafka-brokers", "h:1"}, nil, []string{"--data-dir"}},
		"no brokers":                {[]string{"serve", "--data-dir", "d"}, nil, []string{"--kafka-brokers"}},
		"broker without port":       {[]string{"serve", "--data-dir", "d", "--kafka-brokers", "host"}, nil, []string{"--kafka-brokers", `"host"`}},
		"broker with a wide port":   {[]string{"serve", "--data-dir", "d", "--kafka-brokers", "host:70000"}, nil, []string{"--kafka-brokers", `"host:70000"`}},
		"node id zero":              {with("--node-id=0"), nil, []string{"--node-id"}},
		"node id negative":          {with("--node-id=-1"), nil, []string{"--node-id"}},
		"listen":                    {with("--listen=9192"), nil, []string{"--listen", `"9192"`}},
		"http":                      {with("--http=x"), nil, []string{"--http"}},
		"advertised port":           {with("--advertise-host=localhost:9192"), nil, []string{"--advertise-host"}},
		"advertise nothing":         {with("--advertise-host="), nil, []string{"--advertise-host"}},
		"ports reversed":            {with("--broker-ports=9200-9100"), nil, []string{"--broker-ports"}},
		"ports too wide":            {with("--broker-ports=9000-19000"), nil, []string{"--broker-ports"}},
		"listen inside ports":       {with("--listen=:9200"), nil, []string{"--listen", "--broker-ports", "9200"}},
		"http inside ports":         {with("--http=127.0.0.1:9193"), nil, []string{"--http", "--broker-ports"}},
		"http on listen":            {with("--http=127.0.0.1:9192"), nil, []string{"--http", "--listen"}},
		"first broker id":           {with("--first-broker-id=-1"), nil, []string{"--first-broker-id"}},
		"pprof without http":        {with("--http=", "--pprof"), nil, []string{"--pprof", "--http"}},
		"log format":                {with("--log-format=xml"), nil, []string{"--log-format", `"xml"`}},
		"log level":                 {with("--log-level=loud"), nil, []string{"--log-level", `"loud"`}},
		"log level above errors":    {with("--log-level=fatal"), nil, []string{"--log-level", `"fatal"`}},
		"log store":                 {with("--raft-log-store=boltdb"), nil, []string{"--raft-log-store", `"boltdb"`}},
		"several voters":            {with("--cluster=1@a:1,2@b:1"), nil, []string{"--cluster", "single node"}},
		"voter twice":               {with("--cluster=1@a:1,1@b:1"), nil, []string{"--cluster", "twice"}},
		"voter missing":             {with("--cluster=2@a:1"), nil, []string{"--node-id", "--cluster"}},
		"voter malformed":           {with("--cluster=a:1"), nil, []string{"--cluster", `"a:1"`}},
		"session bounds":            {with("--group.min.session.timeout.ms=10", "--group.max.session.timeout.ms=9"), nil, []string{"--group.min.session.timeout.ms", "--group.max.session.timeout.ms"}},
		"milliseconds with a unit":  {with("--group.initial.rebalance.delay.ms=3s"), nil, []string{"--group.initial.rebalance.delay.ms"}},
		"milliseconds overflow":     {with("--connections.max.idle.ms=9223372036854775807"), nil, []string{"--connections.max.idle.ms"}},
		"minutes zero":              {with("--offsets.retention.minutes=0"), nil, []string{"--offsets.retention.minutes"}},
		"group size":                {with("--group.max.size=0"), nil, []string{"--group.max.size"}},
		"metadata":                  {with("--offset.metadata.max.bytes=-1"), nil, []string{"--offset.metadata.max.bytes"}},
		"request size":              {with("--socket.request.max.bytes=10"), nil, []string{"--socket.request.max.bytes"}},
		"snapshot interval":         {with("--raft-snapshot-interval=-1s"), nil, []string{"--raft-snapshot-interval"}},
		"write behind":              {with("--raft-write-behind=-1s"), nil, []string{"--raft-write-behind"}},
		"snapshot interval zero":    {with("--raft-snapshot-interval=0s"), nil, []string{"--raft-snapshot-interval", "at least 1ms"}},
		"write behind zero":         {with("--raft-write-behind=0s"), nil, []string{"--raft-write-behind", "at least 1ms"}},
		"snapshot threshold zero":   {with("--raft-snapshot-threshold=0"), nil, []string{"--raft-snapshot-threshold"}},
		"drain":                     {with("--drain-timeout=-1s"), nil, []string{"--drain-timeout"}},
		"refresh interval":          {with("--kafka-refresh-interval=1ms"), nil, []string{"--kafka-refresh-interval"}},
		"TLS":                       {with("--kafka-security-protocol=SASL_SSL"), nil, []string{"--kafka-security-protocol", "TLS"}},
		"protocol":                  {with("--kafka-security-protocol=FOO"), nil, []string{"--kafka-security-protocol"}},
		"password without SASL":     {with("--kafka-sasl-password=p"), nil, []string{"--kafka-sasl-password", "--kafka-security-protocol"}},
		"SASL without mechanism":    {with("--kafka-security-protocol=SASL_PLAINTEXT"), nil, []string{"--kafka-sasl-mechanism"}},
		"mechanism":                 {with("--kafka-security-protocol=SASL_PLAINTEXT", "--kafka-sasl-mechanism=GSSAPI"), nil, []string{"--kafka-sasl-mechanism", "GSSAPI"}},
		"no user":                   {with("--kafka-security-protocol=SASL_PLAINTEXT", "--kafka-sasl-mechanism=PLAIN"), nil, []string{"--kafka-sasl-username"}},
		"no password":               {with("--kafka-security-protocol=SASL_PLAINTEXT", "--kafka-sasl-mechanism=PLAIN", "--kafka-sasl-username=u"), nil, []string{"--kafka-sasl-password-file"}},
		"two passwords":             {with("--kafka-sasl-password=p", "--kafka-sasl-password-file=/f"), nil, []string{"--kafka-sasl-password", "--kafka-sasl-password-file"}},
		"password file":             {with("--kafka-sasl-password-file=/nonexistent"), nil, []string{"--kafka-sasl-password-file", "/nonexistent"}},
		"password file empty":       {with("--kafka-sasl-password-file=" + empty), nil, []string{"--kafka-sasl-password-file", "empty"}},
		"token and user":            {with("--kafka-security-protocol=SASL_PLAINTEXT", "--kafka-sasl-mechanism=OAUTHBEARER", "--kafka-sasl-oauth-token=t", "--kafka-sasl-username=u"), nil, []string{"--kafka-sasl-username"}},
		"no token":                  {with("--kafka-security-protocol=SASL_PLAINTEXT", "--kafka-sasl-mechanism=OAUTHBEARER"), nil, []string{"--kafka-sasl-oauth-token"}},
		"environment":               {serve, []string{"COORDINATORD_NODE_ID=x"}, []string{"COORDINATORD_NODE_ID", `"x"`}},
		"environment unknown":       {serve, []string{"COORDINATORD_NODEID=1"}, []string{"COORDINATORD_NODEID", "COORDINATORD_NODE_ID"}},
		"environment to act":        {serve, []string{"COORDINATORD_EXECUTE=true"}, []string{"COORDINATORD_EXECUTE"}},
		"environment contradictory": {serve, []string{"COORDINATORD_KAFKA_SASL_USERNAME=u"}, []string{"--kafka-sasl-username"}},
		"file missing":              {with("--config", "/nonexistent.yaml"), nil, []string{"--config", "/nonexistent.yaml"}},
		"file unknown key":          {with("--config", writeFile(t, "node-id: 1\nnode_id: 2\n")), nil, []string{":2:", `"node_id"`}},
		"file nested unknown key":   {with("--config", writeFile(t, "group:\n  max:\n    sise: 2\n")), nil, []string{":3:", `"group.max.sise"`}},
		"file key of dev":           {with("--config", writeFile(t, "topics: a:1\n")), nil, []string{`"topics"`, "serve"}},
		"file key config":           {with("--config", writeFile(t, "config: x\n")), nil, []string{`"config"`}},
		"file bad value":            {with("--config", writeFile(t, "group.max.size: many\n")), nil, []string{":1:", "group.max.size", `"many"`}},
		"file twice":                {with("--config", writeFile(t, "group.max.size: 1\ngroup: {max.size: 2}\n")), nil, []string{":2:", `"group.max.size"`, "line 1"}},
		"file duplicate":            {with("--config", writeFile(t, "node-id: 1\nnode-id: 2\n")), nil, []string{"node-id"}},
		"file without value":        {with("--config", writeFile(t, "node-id:\n")), nil, []string{`"node-id"`, "no value"}},
		"file list":                 {with("--config", writeFile(t, "- node-id\n")), nil, []string{"key: value"}},
		"file no YAML":              {with("--config", writeFile(t, "a: [\n")), nil, []string{"coordinatord.yaml"}},
		"file deep":                 {with("--config", writeFile(t, "kafka-brokers: [[a]]\n")), nil, []string{`"kafka-brokers"`}},
		"file large":                {with("--config", writeFile(t, strings.Repeat("# comment\n", 200_000))), nil, []string{"larger"}},
		"dev topics":                {[]string{"dev", "--topics", "orders"}, nil, []string{"--topics", `"orders"`}},
		"dev topic name":            {[]string{"dev", "--topics", "a/b:1"}, nil, []string{"--topics", `"a/b"`}},
		"dev topic partitions":      {[]string{"dev", "--topics", "a:0"}, nil, []string{"--topics", `"a:0"`}},
		"dev topic twice":           {[]string{"dev", "--topics", "a:1,a:2"}, nil, []string{"--topics", `"a"`}},
		"dev brokers":               {[]string{"dev", "--brokers", "0"}, nil, []string{"--brokers"}},
		"dev brokers beyond ports":  {[]string{"dev", "--brokers", "3", "--broker-ports", "9193-9194"}, nil, []string{"--brokers", "--broker-ports"}},
		"dev partitions":            {[]string{"dev", "--default-partitions", "0"}, nil, []string{"--default-partitions"}},
		"dev first broker":          {[]string{"dev", "--first-broker-id", "1"}, nil, []string{"--first-broker-id"}},
		"dev takes no Kafka":        {[]string{"dev", "--kafka-brokers", "a:1"}, nil, []string{"--kafka-brokers"}},
		"groups":                    {[]string{"groups"}, nil, []string{"list", "reset-offsets"}},
		"groups unknown":            {[]string{"groups", "drop"}, nil, []string{`"drop"`}},
		"describe nothing":          {[]string{"groups", "describe"}, nil, []string{"at least one GROUP"}},
		"inspect nothing":           {[]string{"inspect"}, nil, []string{"--data-dir"}},
		"inspect both":              {[]string{"inspect", "--data-dir", "d", "--entries", "--group", "g"}, nil, []string{"--entries", "--group"}},
		"output":                    {[]string{"groups", "list", "--output", "xml"}, nil, []string{"--output"}},
		"status http":               {[]string{"status", "--http", "x"}, nil, []string{"--http", `"x"`}},
		"reset nothing":             {[]string{"groups", "reset-offsets", "g", "--topic", "t"}, nil, []string{"--to-earliest"}},
		"reset two targets":         {[]string{"groups", "reset-offsets", "g", "--topic", "t", "--to-earliest", "--to-latest"}, nil, []string{"--to-earliest", "--to-latest"}},
		"reset no topic":            {[]string{"groups", "reset-offsets", "g", "--to-earliest"}, nil, []string{"--topic", "--all-topics"}},
		"reset both topics":         {[]string{"groups", "reset-offsets", "g", "--to-earliest", "--topic", "t", "--all-topics"}, nil, []string{"--topic", "--all-topics"}},
		"reset both ways":           {[]string{"groups", "reset-offsets", "g", "--to-earliest", "--topic", "t", "--execute", "--dry-run"}, nil, []string{"--execute", "--dry-run"}},
		"reset negative":            {[]string{"groups", "reset-offsets", "g", "--to-offset", "-1", "--topic", "t"}, nil, []string{"--to-offset"}},
		"reset no group":            {[]string{"groups", "reset-offsets", "--topic", "t", "--to-latest"}, nil, []string{"one GROUP"}},
		"reset bad time":            {[]string{"groups", "reset-offsets", "g", "--topic", "t", "--to-datetime", "yesterday"}, nil, []string{"--to-datetime", `"yesterday"`}},
		"reset false":               {[]string{"groups", "reset-offsets", "g", "--to-latest=false", "--topic", "t"}, nil, []string{"--to-latest"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := runCommand(t, tc.env, tc.args...)
			require.Equal(t, exitUsage, r.code, r.stderr)
			require.Empty(t, r.stdout)
			for _, want := range tc.want {
				require.Contains(t, r.stderr, want)
			}
		})
	}
	require.NoFileExists(t, "/nonexistent/x")
}

// A secret that cannot be used is not shown.
func TestSecretsAreNotShown(t *testing.T) {
	r := runCommand(t, []string{"COORDINATORD_KAFKA_SASL_PASSWORD=hunter2"}, "serve", "--data-dir", "d", "--kafka-brokers", "h:1")
	require.Equal(t, exitUsage, r.code)
	require.NotContains(t, r.stderr, "hunter2")

	d := newDaemonFlags()
	cmd := &cobra.Command{}
	d.registerKafka(cmd)
	require.NoError(t, cmd.Flags().Parse([]string{"--kafka-sasl-password=hunter2", "--kafka-sasl-oauth-token=hunter2", "--kafka-sasl-username=u"}))
	settings := given(cmd.Flags())
	require.Equal(t, "(secret)", settings["kafka-sasl-password"])
	require.Equal(t, "(secret)", settings["kafka-sasl-oauth-token"])
	require.Equal(t, "u", settings["kafka-sasl-username"])
	require.NotContains(t, settings, "kafka-security-protocol", "nobody gave it")
}

// parse runs the settings of serve through flags, environment and file, without starting anything.
func parse(t *testing.T, env []string, args ...string) (*daemonFlags, error) {
	t.Helper()
	a := &app{env: env, stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	root := a.rootCommand()
	d := newDaemonFlags()
	cmd := &cobra.Command{Use: "probe", RunE: func(*cobra.Command, []string) error { return nil }}
	d.register(cmd)
	d.registerKafka(cmd)
	root.AddCommand(cmd)
	root.SetArgs(append([]string{"probe"}, args...))
	return d, root.ExecuteContext(context.Background())
}

// A flag wins over the environment, the environment over the file, the file over the default.
func TestPrecedence(t *testing.T) {
	file := writeFile(t, "node-id: 4\ngroup.max.size: 40\nadvertise-host: from-file\nkafka-brokers: [a:1, b:2]\nleader-hints: true\ngroup:\n  initial.rebalance.delay.ms: 7\n")
	env := []string{"COORDINATORD_NODE_ID=3", "COORDINATORD_GROUP_MAX_SIZE=30", "PATH=/bin", "COORDINATORD_CONFIG=" + file}

	d, err := parse(t, env, "--node-id=2")
	require.NoError(t, err)
	require.Equal(t, uint64(2), d.config.NodeID, "flag")
	require.Equal(t, 30, d.config.Group.MaxSize, "environment")
	require.Equal(t, "from-file", d.config.AdvertiseHost, "file")
	require.Equal(t, ":9192", d.config.Listen, "default")
	require.Equal(t, []string{"a:1", "b:2"}, d.config.KafkaBrokers)
	require.True(t, d.config.LeaderHints)
	require.Equal(t, int64(7), d.config.Group.InitialRebalanceDelay.Milliseconds())

	// A flag that repeats the default still wins.
	d, err = parse(t, env, "--group.max.size=2147483647")
	require.NoError(t, err)
	require.Equal(t, 2147483647, d.config.Group.MaxSize)
}

func TestEnvironmentOfKubernetesAndOtherCommands(t *testing.T) {
	_, err := parse(t, []string{
		"COORDINATORD_SERVICE_HOST=10.0.0.1", "COORDINATORD_SERVICE_PORT=9192", "COORDINATORD_SERVICE_PORT_KAFKA=9192",
		"COORDINATORD_PORT=tcp://10.0.0.1:9192", "COORDINATORD_PORT_9192_TCP_ADDR=10.0.0.1", "COORDINATORD_HTTP_SERVICE_HOST=10.0.0.1",
		"COORDINATORD_TOPICS=a:1", "COORDINATORD_OUTPUT=json",
	})
	require.NoError(t, err)
}

// Every flag has a variable of its own.
func TestVariablesAreUnique(t *testing.T) {
	d := newDaemonFlags()
	cmd := &cobra.Command{}
	d.register(cmd)
	d.registerKafka(cmd)
	seen := make(map[string]string)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		require.Empty(t, seen[envName(f.Name)], f.Name)
		seen[envName(f.Name)] = f.Name
		require.NotEmpty(t, f.Usage, f.Name)
	})
	require.Contains(t, seen, "COORDINATORD_GROUP_INITIAL_REBALANCE_DELAY_MS")
	require.Contains(t, seen, "COORDINATORD_KAFKA_BROKERS")
}

func TestVersionAndHelp(t *testing.T) {
	r := runCommand(t, nil, "version")
	require.Equal(t, exitOK, r.code)
	require.Contains(t, r.stdout, "coordinatord ")
	flag := runCommand(t, nil, "--version")
	require.Equal(t, exitOK, flag.code)
	require.Equal(t, r.stdout, flag.stdout)
	r = runCommand(t, nil, "version", "--output", "json")
	require.Equal(t, exitOK, r.code)
	require.Contains(t, r.stdout, `"version"`)

	r = runCommand(t, nil, "serve", "--help")
	require.Equal(t, exitOK, r.code)
	for _, want := range []string{"--node-id", "9193-9224", "--group.initial.rebalance.delay.ms", "3000", "127.0.0.1:9191", "BOOTSTRAP=", "SIGTERM"} {
		require.Contains(t, r.stdout, want)
	}
}

func TestNames(t *testing.T) {
	require.Equal(t, "0-2,5", joinInts([]int32{5, 2, 1, 0}))
	require.Empty(t, joinInts(nil))
	require.Equal(t, "a\uFFFD[31mb", printable("a\x1b[31mb"))
	require.Equal(t, int64(1<<63-1), shift(1<<62, 1<<62+5))
	require.Equal(t, int64(0), shift(-1<<62, -1<<63+1))
	require.Equal(t, int64(7), shift(10, -3))
}
