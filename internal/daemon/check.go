package daemon

import (
	"context"
	"net"

	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/gateway"
)

// Check dials everything that has to be reachable for a daemon with this configuration, which must be running, and says
// in sentences what it finds.
func Check(ctx context.Context, cfg Config, log *zap.Logger) []gateway.Finding {
	_, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		port = "" // validated before
	}
	findings := gateway.Check(ctx, gateway.DirectoryConfig{
		Seeds:       cfg.KafkaBrokers,
		Ports:       cfg.ports(),
		LeaderHints: cfg.LeaderHints,
		Security:    cfg.Security.gateway(),
	}, net.JoinHostPort(cfg.AdvertiseHost, port), log)
	return findings
}
