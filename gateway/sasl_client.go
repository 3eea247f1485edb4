package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Security says how the daemon's own client logs in to Kafka. Clients that are passed through log in by themselves.
type Security struct {
	// Protocol is Kafka's security.protocol: PLAINTEXT (also when empty) or SASL_PLAINTEXT. SSL and SASL_SSL are refused.
	Protocol string
	// Mechanism is Kafka's sasl.mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.
	Mechanism string
	Username  string // PLAIN and SCRAM
	Password  string // PLAIN and SCRAM
	// Token is the bearer token of OAUTHBEARER. TokenFile names a file to read it from at every login instead, so that
	// something else can renew it.
	Token     string
	TokenFile string
}

// SASL reports whether Kafka asks for a login.
func (s Security) SASL() bool { return strings.EqualFold(s.Protocol, "SASL_PLAINTEXT") }

// mechanism returns the login of the daemon's own client; nil when none is asked for.
func (s Security) mechanism() (sasl.Mechanism, error) {
	switch strings.ToUpper(s.Protocol) {
	case "", "PLAINTEXT":
		if s.Mechanism != "" || s.Username != "" || s.Password != "" || s.Token != "" || s.TokenFile != "" {
			return nil, errors.New("SASL settings are given, but the security protocol is PLAINTEXT; set it to SASL_PLAINTEXT")
		}
		return nil, nil //nolint:nilnil // No mechanism is a valid answer: PLAINTEXT has no login.
	case "SASL_PLAINTEXT":
	case "SSL", "SASL_SSL":
		return nil, fmt.Errorf("the security protocol %s is not supported yet: use PLAINTEXT or SASL_PLAINTEXT", strings.ToUpper(s.Protocol))
	default:
		return nil, fmt.Errorf("unknown security protocol %q: use PLAINTEXT or SASL_PLAINTEXT", s.Protocol)
	}
	switch mechanism := strings.ToUpper(s.Mechanism); mechanism {
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
		if s.Username == "" || s.Password == "" {
			return nil, fmt.Errorf("the SASL mechanism %s needs a user name and a password", mechanism)
		}
		if s.Token != "" || s.TokenFile != "" {
			return nil, fmt.Errorf("a token is given, but the SASL mechanism is %s", mechanism)
		}
		switch mechanism {
		case "PLAIN":
			return plain.Auth{User: s.Username, Pass: s.Password}.AsMechanism(), nil
		case "SCRAM-SHA-256":
			return scram.Auth{User: s.Username, Pass: s.Password}.AsSha256Mechanism(), nil
		}
		return scram.Auth{User: s.Username, Pass: s.Password}.AsSha512Mechanism(), nil
	case "OAUTHBEARER":
		return s.oauthBearer()
	case "":
		return nil, errors.New("the security protocol SASL_PLAINTEXT needs a SASL mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER")
	default:
		return nil, fmt.Errorf("unknown SASL mechanism %q: use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER", s.Mechanism)
	}
}

func (s Security) oauthBearer() (sasl.Mechanism, error) {
	switch {
	case s.Username != "" || s.Password != "":
		return nil, errors.New("a user name or password is given, but the SASL mechanism is OAUTHBEARER")
	case s.Token != "" && s.TokenFile != "":
		return nil, errors.New("the SASL mechanism OAUTHBEARER takes a token or a token file, not both")
	case s.Token != "":
		return oauth.Auth{Token: s.Token}.AsMechanism(), nil
	case s.TokenFile != "":
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			raw, err := os.ReadFile(s.TokenFile)
			if err != nil {
				return oauth.Auth{}, fmt.Errorf("read the OAUTHBEARER token: %w", err)
			}
			token := strings.TrimSpace(string(raw))
			if token == "" {
				return oauth.Auth{}, fmt.Errorf("the OAUTHBEARER token file %s is empty", s.TokenFile)
			}
			return oauth.Auth{Token: token}, nil
		}), nil
	}
	return nil, errors.New("the SASL mechanism OAUTHBEARER needs a token or a token file")
}
