package abuse

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandLine: what an operator gets wrong is one sentence that names the key, and nothing is left behind.
func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	noise := filepath.Join(dir, "noise.yaml")
	require.NoError(t, os.WriteFile(noise, []byte("\xff\xfe\x00\x01"), 0o600))
	unknown := filepath.Join(dir, "unknown.yaml")
	require.NoError(t, os.WriteFile(unknown, []byte("no-such-key: 1\n"), 0o600))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, c := range []struct {
		args   []string
		env    string
		status int
		names  string
	}{
		{[]string{"--no-such-flag"}, "", 2, "--no-such-flag"},
		{[]string{"--node-id", "0"}, "", 2, "--node-id"},
		{[]string{"--node-id", "99999999999999999999"}, "", 2, "--node-id"},
		{[]string{"--broker-ports", "9200-9100"}, "", 2, "--broker-ports"},
		{[]string{"--listen", "127.0.0.1:9193", "--broker-ports", "9193-9194"}, "", 2, "--broker-ports"},
		{[]string{"--listen", "127.0.0.1:9180", "--http", "127.0.0.1:9180"}, "", 2, "--http"},
		{[]string{"--group.min.session.timeout.ms", "5000", "--group.max.session.timeout.ms", "100"}, "", 2, "--group.max.session.timeout.ms"},
		{[]string{"--kafka-security-protocol", "SASL_PLAINTEXT"}, "", 2, "--kafka-sasl-mechanism"},
		{[]string{"--kafka-brokers", "a:b:c"}, "", 2, "--kafka-brokers"},
		{[]string{"--config", filepath.Join(dir, "missing.yaml")}, "", 2, "missing.yaml"},
		{[]string{"--config", dir}, "", 2, "--config"},
		{[]string{"--config", noise}, "", 2, "noise.yaml"},
		{[]string{"--config", unknown}, "", 2, "no-such-key"},
		{nil, "COORDINATORD_NODE_ID=abc", 2, "COORDINATORD_NODE_ID"},
		{nil, "COORDINATORD_NO_SUCH_KEY=1", 2, "COORDINATORD_NO_SUCH_KEY"},
		{[]string{"--http", taken.Addr().String()}, "", 1, "--http"},
	} {
		data := filepath.Join(dir, "data")
		args := append([]string{"serve", "--data-dir", data, "--kafka-brokers", "127.0.0.1:1"}, c.args...)
		status, stderr := command(t, []string{c.env}, args...)
		require.Equal(t, c.status, status, "%v: %s", c.args, stderr)
		var said []string
		for line := range strings.Lines(stderr) {
			if strings.HasPrefix(line, "coordinatord: ") {
				said = append(said, line)
			}
		}
		require.Len(t, said, 1, "%v: %s", c.args, stderr)
		require.Contains(t, said[0], c.names)
		if c.status == 2 {
			require.NoDirExists(t, data, "%v", c.args)
		}
	}
}
