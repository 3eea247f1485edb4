package gateway

import "github.com/twmb/franz-go/pkg/kgo"

// ClientOptions returns what a client of the same cluster needs to log in as the daemon's own client does; none for
// PLAINTEXT.
func (s Security) ClientOptions() ([]kgo.Opt, error) {
	mechanism, err := s.mechanism()
	if err != nil || mechanism == nil {
		return nil, err
	}
	return []kgo.Opt{kgo.SASL(mechanism)}, nil
}
