package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

// maxLoginBytes bounds requests before a client has logged in: sasl.server.max.receive.size.
const maxLoginBytes = 512 << 10

const codeUnsupportedMechanism = int16(33)

var errNotLoggedIn = errors.New("a request before the client has logged in")

// login follows the SASL exchange between a client and its broker. The broker decides; we only have to know that it has
// decided, because our own keys never reach it. SaslAuthenticate answers without an error also in the middle of an
// exchange, so the end of it is told from the mechanism's last message.
type login struct {
	mu        sync.Mutex
	mechanism string // what the last handshake that the broker has answered agreed on
	state     loginState
	expires   time.Time // when the session ends (KIP-368); zero: never
}

type loginState uint8

const (
	loginNone    loginState = iota
	loginGoing              // a handshake has been sent
	loginDone               // the broker has accepted the client
	loginRefused            // the broker has refused it and will close the connection
)

// permits refuses what an unauthenticated client may not ask: everything but ApiVersions and the exchange itself.
func (l *login) permits(h wire.Header) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch h.Key {
	case keyAPIVersions, keySASLHandshake, keySASLAuthenticate:
		if l.state != loginDone && h.Size > maxLoginBytes {
			return fmt.Errorf("a request of %d bytes before the client has logged in; at most %d are taken", h.Size, maxLoginBytes)
		}
		return nil
	}
	if l.state != loginDone {
		return fmt.Errorf("api key %d: %w", h.Key, errNotLoggedIn)
	}
	if !l.expires.IsZero() && !time.Now().Before(l.expires) {
		return fmt.Errorf("api key %d: the session's lifetime has passed and the client has not logged in again", h.Key)
	}
	return nil
}

// begun says whether the broker's side of the connection holds state of a login.
func (l *login) begun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != loginNone
}

// look reads the client's part of the exchange.
func (l *login) look(h wire.Header, body []byte) (wire.Verdict, error) {
	msg, err := wire.Decode(h.Key, h.Version, body)
	if err != nil {
		return wire.Verdict{}, err
	}
	req, ok := msg.(*kmsg.SASLHandshakeRequest)
	if !ok {
		return wire.Verdict{Pass: true}, nil
	}
	if !endKnown(req.Mechanism) {
		resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
		resp.ErrorCode, resp.SupportedMechanisms = codeUnsupportedMechanism, passedMechanisms[:]
		return wire.Verdict{Resp: resp}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = loginGoing
	return wire.Verdict{Pass: true, Note: strings.Clone(req.Mechanism)}, nil
}

// passedMechanisms are those whose end can be told from the bytes, and that work through a gateway at all: a Kerberos
// ticket is for the host that the client dialled, AWS_MSK_IAM signs that host's name.
var passedMechanisms = [...]string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"}

func endKnown(mechanism string) bool {
	for _, m := range passedMechanisms {
		if m == mechanism {
			return true
		}
	}
	return false
}

// learn reads the broker's part of the exchange and returns what the client is told.
func (l *login) learn(s wire.Slot, body []byte) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Key == keySASLHandshake {
		return l.learnHandshake(s, body)
	}
	var resp kmsg.SASLAuthenticateResponse
	if err := decode(&resp, s.Version, body); err != nil {
		return nil, fmt.Errorf("the broker's SaslAuthenticate response: %w", err)
	}
	switch {
	case resp.ErrorCode != 0:
		l.state = loginRefused
	case l.state == loginGoing && l.complete(resp.SASLAuthBytes):
		l.state, l.expires = loginDone, time.Time{}
		if resp.SessionLifetimeMillis > 0 {
			l.expires = time.Now().Add(time.Duration(resp.SessionLifetimeMillis) * time.Millisecond)
		}
	}
	return body, nil
}

func (l *login) learnHandshake(s wire.Slot, body []byte) ([]byte, error) {
	var resp kmsg.SASLHandshakeResponse
	if err := decode(&resp, s.Version, body); err != nil {
		return nil, fmt.Errorf("the broker's SaslHandshake response: %w", err)
	}
	// Only now, and not when the client asked: the broker may still owe answers to an exchange of another mechanism, and
	// what is in the middle there looks like the end here.
	l.mechanism, _ = s.Note.(string)
	if resp.ErrorCode != 0 {
		l.mechanism, l.state = "", loginRefused
	}
	var can []string
	for _, m := range resp.SupportedMechanisms {
		if endKnown(m) {
			can = append(can, m)
		}
	}
	resp.SupportedMechanisms = can
	return resp.AppendTo(nil), nil
}

// complete says whether a broker's message without an error is the last one of a successful exchange. PLAIN has one
// message (RFC 4616). SCRAM ends with the server's signature, "v=" (RFC 5802, 3); what goes before begins with "r=".
// OAUTHBEARER succeeds with an empty message; a refusal begins with JSON that says why, also without an error code (RFC
// 7628, 3.2).
func (l *login) complete(message []byte) bool {
	switch l.mechanism {
	case "PLAIN":
		return true
	case "OAUTHBEARER":
		return len(message) == 0
	case "SCRAM-SHA-256", "SCRAM-SHA-512":
		return bytes.HasPrefix(message, []byte("v="))
	}
	return false
}
