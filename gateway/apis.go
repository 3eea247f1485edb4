package gateway

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

const (
	keyProduce         = int16(kmsg.Produce)
	keyFetch           = int16(kmsg.Fetch)
	keyMetadata        = int16(kmsg.Metadata)
	keyFindCoordinator = int16(kmsg.FindCoordinator)
	keyAPIVersions     = int16(kmsg.ApiVersions)
	keyDescribeQuorum  = int16(kmsg.DescribeQuorum)
	keyDescribeCluster = int16(kmsg.DescribeCluster)
)

// decodedAPIs are the APIs that pass but whose answers are looked into, with the newest version that this code was written
// for. A broker's newer version is neither offered nor rewritten: its answer could carry an address where nobody looks.
var decodedAPIs = map[int16]int16{
	keyProduce:         13,
	keyFetch:           18,
	keyMetadata:        13,
	keyFindCoordinator: 6,
	keyAPIVersions:     wire.APIVersionsMax,
	keyDescribeQuorum:  2,
	keyDescribeCluster: 2,
}

// passed returns the versions of another's API that may pass, of those that the broker supports. False: none.
func (d *Directory) passed(key, brokerMin, brokerMax int16) (minVersion, maxVersion int16, ok bool) {
	if wire.ClassOf(key) != wire.Passed {
		return 0, 0, false
	}
	limits := wire.PassedVersions(key, d.cfg.LeaderHints)
	minVersion, maxVersion = max(brokerMin, limits.Min), min(brokerMax, limits.Max)
	if decoded, ok := decodedAPIs[key]; ok {
		maxVersion = min(maxVersion, decoded)
	}
	return minVersion, maxVersion, minVersion <= maxVersion
}
