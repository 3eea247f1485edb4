package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

// Each case plays a login: what the broker answers, and whether the client is logged in after it.
func TestLoginIsCompleteOnlyAfterTheLastMessage(t *testing.T) {
	type step struct {
		code     int16
		message  string
		lifetime int64
		done     bool
	}
	for name, tc := range map[string]struct {
		mechanism string
		steps     []step
	}{
		"plain":         {"PLAIN", []step{{message: "", done: true}}},
		"plain refused": {"PLAIN", []step{{code: 58}}},
		"scram": {"SCRAM-SHA-256", []step{
			{message: "r=abc,s=c2FsdA==,i=4096"},
			{message: "v=c2lnbmF0dXJl", done: true},
		}},
		"scram whose nonce looks like the end": {"SCRAM-SHA-512", []step{{message: "r=v=,s=dj0=,i=4096"}, {message: "v=x", done: true}}},
		"scram refused":                        {"SCRAM-SHA-256", []step{{message: "r=abc,s=c2FsdA==,i=4096"}, {code: 58}}},
		"scram with an error message":          {"SCRAM-SHA-256", []step{{message: "e=invalid-proof"}}},
		"bearer":                               {"OAUTHBEARER", []step{{message: "", done: true}}},
		"bearer refused": {"OAUTHBEARER", []step{
			{message: `{"status":"invalid_token"}`},
			{code: 58},
		}},
		"success after a refusal": {"PLAIN", []step{{code: 58}, {message: ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &login{}
			req := kmsg.NewPtrSASLHandshakeRequest()
			req.Version, req.Mechanism = 1, tc.mechanism
			v, err := l.look(wire.Header{Key: 17, Version: 1}, req.AppendTo(nil))
			require.NoError(t, err)
			require.True(t, v.Pass)
			agreed := kmsg.SASLHandshakeResponse{Version: 1}
			_, err = l.learn(wire.Slot{Key: 17, Version: 1, Note: v.Note}, agreed.AppendTo(nil))
			require.NoError(t, err)
			for i, s := range tc.steps {
				resp := kmsg.NewPtrSASLAuthenticateResponse()
				resp.Version, resp.ErrorCode, resp.SASLAuthBytes, resp.SessionLifetimeMillis = 1, s.code, []byte(s.message), s.lifetime
				body := resp.AppendTo(nil)
				told, err := l.learn(wire.Slot{Key: 36, Version: 1}, body)
				require.NoError(t, err)
				require.Equal(t, body, told, "the exchange itself is not changed")
				err = l.permits(wire.Header{Key: 12})
				require.Equal(t, s.done, err == nil, "after message %d: %v", i, err)
			}
		})
	}
}

func TestLoginAgainSuspendsOwnKeys(t *testing.T) {
	l := &login{mechanism: "PLAIN", state: loginDone, expires: time.Now().Add(time.Hour)}
	require.NoError(t, l.permits(wire.Header{Key: 12}))
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Version, req.Mechanism = 1, "PLAIN"
	_, err := l.look(wire.Header{Key: 17, Version: 1}, req.AppendTo(nil))
	require.NoError(t, err)
	require.Error(t, l.permits(wire.Header{Key: 12}))
	l.state, l.expires = loginDone, time.Now().Add(-time.Second)
	require.ErrorContains(t, l.permits(wire.Header{Key: 12}), "lifetime")
	require.NoError(t, l.permits(wire.Header{Key: 17}), "to log in again is still possible")
}

func TestHandshakeAnswerNamesOnlyWhatPasses(t *testing.T) {
	l := &login{}
	resp := kmsg.NewPtrSASLHandshakeResponse()
	resp.Version, resp.SupportedMechanisms = 1, []string{"GSSAPI", "PLAIN", "AWS_MSK_IAM", "SCRAM-SHA-512"}
	body, err := l.learn(wire.Slot{Key: 17, Version: 1}, resp.AppendTo(nil))
	require.NoError(t, err)
	var got kmsg.SASLHandshakeResponse
	require.NoError(t, got.ReadFrom(body))
	require.Equal(t, []string{"PLAIN", "SCRAM-SHA-512"}, got.SupportedMechanisms)
}

// A client that sends a second handshake while the broker still works on an exchange must not have an answer in the middle
// of that exchange taken for the end of the other mechanism's: nobody has checked a password by then.
func TestHandshakeDuringAnExchangeLogsNobodyIn(t *testing.T) {
	l := &login{}
	ask := func(mechanism string) wire.Slot {
		req := kmsg.NewPtrSASLHandshakeRequest()
		req.Version, req.Mechanism = 1, mechanism
		v, err := l.look(wire.Header{Key: 17, Version: 1}, req.AppendTo(nil))
		require.NoError(t, err)
		return wire.Slot{Key: 17, Version: 1, Note: v.Note}
	}
	learn := func(s wire.Slot, resp kmsg.Response) {
		resp.SetVersion(s.Version)
		_, err := l.learn(s, resp.AppendTo(nil))
		require.NoError(t, err)
		require.ErrorIs(t, l.permits(wire.Header{Key: 42}), errNotLoggedIn)
	}
	for _, other := range []string{"PLAIN", "OAUTHBEARER"} {
		scram := ask("SCRAM-SHA-256")
		learn(scram, kmsg.NewPtrSASLHandshakeResponse())
		second := ask(other) // behind the client's first message, before the broker's answer to that
		middle := kmsg.NewPtrSASLAuthenticateResponse()
		if other == "PLAIN" {
			middle.SASLAuthBytes = []byte("r=abc,s=c2FsdA==,i=4096")
		}
		learn(wire.Slot{Key: 36, Version: 2}, middle)
		refused := kmsg.NewPtrSASLHandshakeResponse()
		refused.ErrorCode = 34 // ILLEGAL_SASL_STATE
		learn(second, refused)
	}
	early := ask("PLAIN") // an answer that came without any handshake
	learn(wire.Slot{Key: 36, Version: 2}, kmsg.NewPtrSASLAuthenticateResponse())
	refused := kmsg.NewPtrSASLHandshakeResponse()
	refused.ErrorCode = 34
	learn(early, refused)
}
