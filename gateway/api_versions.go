package gateway

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

const codeUnsupportedVersion = 35

// ErrNoVersions says that no broker has said yet which versions it supports. A client that is told of the daemon's own
// APIs only would take it that Metadata and Fetch do not exist and give up, so it is better not to answer at all.
var ErrNoVersions = errors.New("no broker has said which API versions it supports")

// EditAPIVersions turns a broker's ApiVersions answer (the body after the header, which is of version 0 in every version)
// into the one for the client. broker is the id of the port, -1 for the bootstrap port. Features and the daemon's own APIs
// are alike on every port; passed APIs are as that broker has them. The answer of a broker that did not know the request's
// version is laid out as version 0 (KIP-511), and so is the result then.
func (d *Directory) EditAPIVersions(requestVersion int16, body []byte, broker int32) ([]byte, error) {
	if len(body) < 2 {
		return nil, errors.New("the ApiVersions answer is shorter than its error code")
	}
	code := int16(binary.BigEndian.Uint16(body))
	if code == codeUnsupportedVersion {
		requestVersion = 0
	}
	if requestVersion < 0 || requestVersion > wire.APIVersionsMax {
		return nil, fmt.Errorf("the ApiVersions version %d is not known", requestVersion)
	}
	// The cache keeps what is decoded, and tags would point into the caller's buffer.
	resp, err := decodeAPIVersions(requestVersion, bytes.Clone(body))
	if err != nil {
		return nil, err
	}
	switch {
	case code == codeUnsupportedVersion:
		return d.unsupported(resp), nil
	case code != 0:
		return body, nil // An error has no list to edit.
	}
	if broker >= 0 {
		d.versions.put(broker, resp)
	}
	return d.edited(requestVersion, resp).AppendTo(nil), nil
}

// APIVersions builds an ApiVersions answer (the body after the header) without asking a broker: out of what the port's
// broker said last, else what all known brokers have in common. ErrNoVersions when none has ever said anything.
func (d *Directory) APIVersions(requestVersion int16, broker int32) ([]byte, error) {
	if requestVersion < 0 || requestVersion > wire.APIVersionsMax {
		return nil, fmt.Errorf("the ApiVersions version %d is not known", requestVersion)
	}
	resp := d.versions.get(broker)
	if resp == nil {
		resp = d.versions.common(d.Table().IDs())
	}
	if resp == nil {
		return nil, ErrNoVersions
	}
	return d.edited(requestVersion, resp).AppendTo(nil), nil
}

// UnsupportedAPIVersions returns the answer to an ApiVersions request of a version that is too new: laid out as version 0,
// with error 35 and the versions of ApiVersions itself, so that the client can ask again (KIP-511).
func (d *Directory) UnsupportedAPIVersions(broker int32) []byte {
	resp := d.versions.get(broker)
	if resp == nil {
		resp = d.versions.common(d.Table().IDs())
	}
	if resp == nil {
		resp = &kmsg.ApiVersionsResponse{}
	}
	return d.unsupported(resp)
}

func (d *Directory) unsupported(upstream *kmsg.ApiVersionsResponse) []byte {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = codeUnsupportedVersion
	key := kmsg.NewApiVersionsResponseApiKey()
	key.ApiKey, key.MaxVersion = keyAPIVersions, wire.APIVersionsMax
	for i := range upstream.ApiKeys {
		if k := &upstream.ApiKeys[i]; k.ApiKey == keyAPIVersions {
			key.MinVersion, key.MaxVersion = k.MinVersion, min(k.MaxVersion, key.MaxVersion)
		}
	}
	resp.ApiKeys = append(resp.ApiKeys, key)
	return resp.AppendTo(nil)
}

// edited returns what clients are told in place of a broker's answer, which stays as it is.
func (d *Directory) edited(version int16, upstream *kmsg.ApiVersionsResponse) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = version
	resp.ThrottleMillis = upstream.ThrottleMillis
	resp.ZkMigrationReady = upstream.ZkMigrationReady
	resp.UnknownTags = upstream.UnknownTags
	for _, key := range upstream.ApiKeys { // A copy of each, with its tags.
		var ok bool
		if key.MinVersion, key.MaxVersion, ok = d.passed(key.ApiKey, key.MinVersion, key.MaxVersion); ok {
			resp.ApiKeys = append(resp.ApiKeys, key)
		}
	}
	for _, own := range wire.OwnKeys() {
		key := kmsg.NewApiVersionsResponseApiKey()
		key.ApiKey, key.MinVersion, key.MaxVersion = own.Key, own.Min, own.Max
		resp.ApiKeys = append(resp.ApiKeys, key)
	}
	slices.SortFunc(resp.ApiKeys, func(a, b kmsg.ApiVersionsResponseApiKey) int { return cmp.Compare(a.ApiKey, b.ApiKey) })
	if version >= 3 {
		d.setFeatures(resp, upstream)
	}
	return resp
}

func decodeAPIVersions(version int16, body []byte) (*kmsg.ApiVersionsResponse, error) {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = version
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("decode the ApiVersions answer of version %d: %w", version, err)
	}
	return resp, nil
}

// versionCache keeps what each broker said last of what it supports. What is in it is never changed.
type versionCache struct {
	mu       sync.RWMutex
	byBroker map[int32]*kmsg.ApiVersionsResponse
}

// put notes an answer without error; true when it says something new. A later epoch alone is nothing new: it is the end of
// the brokers' metadata log and grows all the time.
func (c *versionCache) put(broker int32, resp *kmsg.ApiVersionsResponse) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.byBroker[broker]
	kept := *resp
	kept.ThrottleMillis = 0
	if old != nil && resp.Version < old.Version && resp.Version < 4 {
		// Before version 3 there are no features, and version 3 leaves those out whose lowest level is 0 (KIP-1022).
		kept.Version = old.Version
		kept.SupportedFeatures, kept.FinalizedFeatures = old.SupportedFeatures, old.FinalizedFeatures
		kept.FinalizedFeaturesEpoch, kept.ZkMigrationReady = old.FinalizedFeaturesEpoch, old.ZkMigrationReady
		kept.UnknownTags = old.UnknownTags
	}
	if c.byBroker == nil {
		c.byBroker = map[int32]*kmsg.ApiVersionsResponse{}
	}
	c.byBroker[broker] = &kept
	if old == nil {
		return true
	}
	was := *old
	was.FinalizedFeaturesEpoch = kept.FinalizedFeaturesEpoch
	return !bytes.Equal(encodeVersions(&was), encodeVersions(&kept))
}

// encodeVersions encodes an answer with everything it can say.
func encodeVersions(resp *kmsg.ApiVersionsResponse) []byte {
	full := *resp
	full.Version = wire.APIVersionsMax
	return full.AppendTo(nil)
}

func (c *versionCache) get(broker int32) *kmsg.ApiVersionsResponse {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byBroker[broker]
}

// all returns the answers of the given brokers, or of all that ever answered when none of the given ones did.
func (c *versionCache) all(ids []int32) []*kmsg.ApiVersionsResponse {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []*kmsg.ApiVersionsResponse
	for _, id := range ids {
		if resp := c.byBroker[id]; resp != nil {
			out = append(out, resp)
		}
	}
	if len(out) == 0 {
		for _, resp := range c.byBroker {
			out = append(out, resp)
		}
	}
	return out
}

// common returns what every one of the brokers supports; nil when none is known.
func (c *versionCache) common(ids []int32) *kmsg.ApiVersionsResponse {
	answers := c.all(ids)
	if len(answers) == 0 {
		return nil
	}
	out := *answers[0]
	out.ApiKeys = slices.Clone(out.ApiKeys)
	for _, other := range answers[1:] {
		ranges := make(map[int16]wire.Range, len(other.ApiKeys))
		for i := range other.ApiKeys {
			k := &other.ApiKeys[i]
			ranges[k.ApiKey] = wire.Range{Min: k.MinVersion, Max: k.MaxVersion}
		}
		out.ApiKeys = slices.DeleteFunc(out.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool {
			r, ok := ranges[k.ApiKey]
			return !ok || max(r.Min, k.MinVersion) > min(r.Max, k.MaxVersion)
		})
		for i := range out.ApiKeys {
			k := &out.ApiKeys[i]
			r := ranges[k.ApiKey]
			k.MinVersion, k.MaxVersion = max(k.MinVersion, r.Min), min(k.MaxVersion, r.Max)
		}
	}
	return &out
}
