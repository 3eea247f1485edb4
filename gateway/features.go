package gateway

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// featureKeyRange offers the protocol of key ranges; docs/protocol.md.
	featureKeyRange = "keyrange.version"

	featureTransaction = "transaction.version"
	// transactionCap keeps clients at the first transaction protocol. From level 2 on (KIP-890) a client does not announce
	// the offsets of a group to the transaction coordinator but lets TxnOffsetCommit do it, and that is not served yet.
	// At level 1 every client still works as with older brokers. When TxnOffsetCommit comes, the daemon has to learn from
	// the markers in __consumer_offsets how a transaction ended, which the announcement is needed for, so the cap stays.
	transactionCap = int16(1)
)

// hiddenFeatures switch on groups that the daemon does not serve: without group.version there are no consumer groups of
// KIP-848, as on a cluster where it is at level 0.
var hiddenFeatures = map[string]bool{"group.version": true, "share.version": true, "streams.version": true}

// setFeatures puts the features into an answer: the levels that all known brokers support, and the finalized levels that
// have the highest epoch. They are alike on every port, since clients mix what they hear from all of them. The epoch stays
// Kafka's own: clients ignore what does not have a higher one than they know.
func (d *Directory) setFeatures(resp, upstream *kmsg.ApiVersionsResponse) {
	answers := d.versions.all(d.Table().IDs())
	if len(answers) == 0 {
		answers = []*kmsg.ApiVersionsResponse{upstream}
	}
	resp.SupportedFeatures = commonFeatures(answers)
	newest := answers[0]
	for _, a := range answers[1:] {
		if a.FinalizedFeaturesEpoch > newest.FinalizedFeaturesEpoch {
			newest = a
		}
	}
	resp.FinalizedFeaturesEpoch = newest.FinalizedFeaturesEpoch
	for _, f := range newest.FinalizedFeatures {
		if hiddenFeatures[f.Name] {
			continue
		}
		if f.Name == featureTransaction {
			f.MaxVersionLevel, f.MinVersionLevel = min(f.MaxVersionLevel, transactionCap), min(f.MinVersionLevel, transactionCap)
		}
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
	}
	if resp.Version < 4 {
		// As Kafka does: clients that know version 3 only take a lowest level of 0 for an error (KIP-1022).
		resp.SupportedFeatures = slices.DeleteFunc(resp.SupportedFeatures, func(f kmsg.ApiVersionsResponseSupportedFeature) bool {
			return f.MinVersion < 1
		})
	}
	if d.cfg.KeyRangeVersion > 0 {
		f := kmsg.NewApiVersionsResponseSupportedFeature()
		f.Name, f.MinVersion, f.MaxVersion = featureKeyRange, 1, d.cfg.KeyRangeVersion
		resp.SupportedFeatures = append(resp.SupportedFeatures, f)
	}
}

// commonFeatures returns the levels of features that every broker supports, in the first one's order.
func commonFeatures(answers []*kmsg.ApiVersionsResponse) []kmsg.ApiVersionsResponseSupportedFeature {
	var out []kmsg.ApiVersionsResponseSupportedFeature
next:
	for _, f := range answers[0].SupportedFeatures {
		if hiddenFeatures[f.Name] || f.Name == featureKeyRange {
			continue
		}
		for _, other := range answers[1:] {
			if other.Version < 3 {
				continue // That answer could not name features.
			}
			i := slices.IndexFunc(other.SupportedFeatures, func(o kmsg.ApiVersionsResponseSupportedFeature) bool { return o.Name == f.Name })
			if i < 0 {
				continue next
			}
			f.MinVersion = max(f.MinVersion, other.SupportedFeatures[i].MinVersion)
			f.MaxVersion = min(f.MaxVersion, other.SupportedFeatures[i].MaxVersion)
		}
		if f.Name == featureTransaction {
			f.MaxVersion = min(f.MaxVersion, transactionCap)
		}
		if f.MinVersion <= f.MaxVersion {
			out = append(out, f)
		}
	}
	return out
}
