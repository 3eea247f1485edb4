package gateway

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/zap"
)

func TestSecurityLogsIn(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(2), kfake.EnableSASL(),
		kfake.Superuser("PLAIN", "daemon", "secret"), kfake.Superuser("SCRAM-SHA-256", "daemon", "secret"), kfake.Superuser("SCRAM-SHA-512", "daemon", "secret"))
	for _, mechanism := range []string{"PLAIN", "scram-sha-256", "SCRAM-SHA-512"} {
		security := Security{Protocol: "SASL_PLAINTEXT", Mechanism: mechanism, Username: "daemon", Password: "secret"}
		require.True(t, security.SASL())
		d := newDirectory(t, c.ListenAddrs(), func(c *DirectoryConfig) { c.Security = security })
		require.Equal(t, []int32{0, 1}, d.Table().IDs())
	}
	wrong := Security{Protocol: "SASL_PLAINTEXT", Mechanism: "PLAIN", Username: "daemon", Password: "guess"}
	d, err := NewDirectory(DirectoryConfig{Seeds: c.ListenAddrs(), Ports: testPorts, Security: wrong}, zap.NewNop())
	require.NoError(t, err)
	d.Start(t.Context())
	defer d.Close()
	eventually(t, d, func() bool { return d.Err() != nil })
	require.NotContains(t, d.Err().Error(), "guess")
}

func TestSecurityRefused(t *testing.T) {
	for text, s := range map[string]Security{
		"the security protocol SSL is not supported yet: use PLAINTEXT or SASL_PLAINTEXT":                                 {Protocol: "ssl"},
		"the security protocol SASL_SSL is not supported yet: use PLAINTEXT or SASL_PLAINTEXT":                            {Protocol: "SASL_SSL", Mechanism: "PLAIN", Username: "u", Password: "p"},
		`unknown security protocol "KERBEROS": use PLAINTEXT or SASL_PLAINTEXT`:                                           {Protocol: "KERBEROS"},
		"SASL settings are given, but the security protocol is PLAINTEXT; set it to SASL_PLAINTEXT":                       {Mechanism: "PLAIN"},
		"the security protocol SASL_PLAINTEXT needs a SASL mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER": {Protocol: "SASL_PLAINTEXT"},
		`unknown SASL mechanism "GSSAPI": use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER`:                         {Protocol: "SASL_PLAINTEXT", Mechanism: "GSSAPI"},
		"the SASL mechanism PLAIN needs a user name and a password":                                                       {Protocol: "SASL_PLAINTEXT", Mechanism: "PLAIN", Username: "u"},
		"a token is given, but the SASL mechanism is SCRAM-SHA-256":                                                       {Protocol: "SASL_PLAINTEXT", Mechanism: "SCRAM-SHA-256", Username: "u", Password: "p", Token: "t"},
		"the SASL mechanism OAUTHBEARER needs a token or a token file":                                                    {Protocol: "SASL_PLAINTEXT", Mechanism: "OAUTHBEARER"},
		"the SASL mechanism OAUTHBEARER takes a token or a token file, not both":                                          {Protocol: "SASL_PLAINTEXT", Mechanism: "OAUTHBEARER", Token: "t", TokenFile: "f"},
		"a user name or password is given, but the SASL mechanism is OAUTHBEARER":                                         {Protocol: "SASL_PLAINTEXT", Mechanism: "OAUTHBEARER", Username: "u", Token: "t"},
	} {
		_, err := s.mechanism()
		require.EqualError(t, err, text)
	}
}

func TestSecurityToken(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	mechanism, err := Security{Protocol: "SASL_PLAINTEXT", Mechanism: "OAUTHBEARER", TokenFile: name}.mechanism()
	require.NoError(t, err)
	require.Equal(t, "OAUTHBEARER", mechanism.Name())
	_, _, err = mechanism.Authenticate(t.Context(), "h")
	require.ErrorContains(t, err, "read the OAUTHBEARER token")
	require.NoError(t, os.WriteFile(name, []byte("\n"), 0o600))
	_, _, err = mechanism.Authenticate(t.Context(), "h")
	require.ErrorContains(t, err, "is empty")
	for _, token := range []string{"first", "renewed"} {
		require.NoError(t, os.WriteFile(name, []byte(token+"\n"), 0o600))
		_, hello, err := mechanism.Authenticate(t.Context(), "h")
		require.NoError(t, err)
		require.Contains(t, string(hello), "Bearer "+token+"\x01")
	}
}
