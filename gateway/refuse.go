package gateway

import (
	"github.com/coordinatord/coordinatord/wire"
)

// Refusable implements wire.Upstream.
func (l *link) Refusable(wire.Header) bool { return false }

// Refuse implements wire.Upstream.
func (l *link) Refuse(wire.Header, []byte) (wire.Verdict, error) { return wire.Verdict{}, nil }
