package daemon

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/coordinatord/coordinatord/gateway"
)

func (s *Security) gateway() gateway.Security {
	return gateway.Security{
		Protocol:  s.Protocol,
		Mechanism: s.Mechanism,
		Username:  s.Username,
		Password:  s.Password,
		Token:     s.OAuthToken,
		TokenFile: s.OAuthTokenFile,
	}
}

// ClientOptions returns what a Kafka client needs to log in so.
func (s *Security) ClientOptions() ([]kgo.Opt, error) { return s.gateway().ClientOptions() }
