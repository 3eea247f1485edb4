package gateway

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/wire"
)

// kafka44 is what a broker of Kafka 4.4 says, as far as it matters here, with a key and a version from the future.
func kafka44(version int16) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = version
	resp.ThrottleMillis = 7
	for _, k := range []struct{ key, lo, hi int16 }{
		{0, 0, 14},
		{1, 4, 18},
		{2, 1, 11},
		{3, 0, 14},
		{8, 2, 11},
		{9, 1, 10},
		{10, 0, 6},
		{11, 0, 9},
		{12, 0, 4},
		{13, 0, 5},
		{14, 0, 5},
		{15, 0, 6},
		{16, 0, 5},
		{17, 0, 1},
		{18, 0, 6},
		{19, 2, 7},
		{24, 0, 5},
		{27, 1, 2},
		{28, 0, 6},
		{32, 1, 4},
		{36, 0, 2},
		{42, 0, 3},
		{47, 0, 0},
		{55, 0, 2},
		{57, 0, 2},
		{60, 0, 2},
		{68, 0, 1},
		{69, 0, 1},
		{76, 1, 1},
		{78, 1, 2},
		{88, 0, 1},
		{92, 0, 0},
		{250, 0, 3},
	} {
		key := kmsg.NewApiVersionsResponseApiKey()
		key.ApiKey, key.MinVersion, key.MaxVersion = k.key, k.lo, k.hi
		if version >= 3 {
			key.UnknownTags.Set(9000+uint32(k.key), []byte("kept"))
		}
		resp.ApiKeys = append(resp.ApiKeys, key)
	}
	resp.FinalizedFeaturesEpoch = 42
	for name, level := range map[string]int16{"group.version": 1, "kraft.version": 1, "metadata.version": 33, "share.version": 2, "streams.version": 1, "transaction.version": 2} {
		s := kmsg.NewApiVersionsResponseSupportedFeature()
		s.Name, s.MaxVersion = name, level
		if name == "metadata.version" {
			s.MinVersion = 7
		}
		if version >= 4 || s.MinVersion > 0 {
			resp.SupportedFeatures = append(resp.SupportedFeatures, s)
		}
		f := kmsg.NewApiVersionsResponseFinalizedFeature()
		f.Name, f.MinVersionLevel, f.MaxVersionLevel = name, level, level
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
	}
	resp.UnknownTags.Set(77, []byte("from a later Kafka"))
	return resp
}

func keysOf(resp *kmsg.ApiVersionsResponse) map[int16][2]int16 {
	out := map[int16][2]int16{}
	for _, k := range resp.ApiKeys {
		out[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	return out
}

func edit(t *testing.T, d *Directory, upstream *kmsg.ApiVersionsResponse, broker int32) *kmsg.ApiVersionsResponse {
	t.Helper()
	body, err := d.EditAPIVersions(upstream.Version, upstream.AppendTo(nil), broker)
	require.NoError(t, err)
	resp, err := decodeAPIVersions(upstream.Version, body)
	require.NoError(t, err)
	return resp
}

func TestAPIVersionsKeys(t *testing.T) {
	for version := range int16(wire.APIVersionsMax + 1) {
		d := idleDirectory(t, testPorts)
		d.cfg.LeaderHints = false
		resp := edit(t, d, kafka44(version), 1)
		keys := keysOf(resp)
		require.Len(t, keys, len(resp.ApiKeys), "no key twice")
		require.True(t, slices.IsSortedFunc(resp.ApiKeys, func(a, b kmsg.ApiVersionsResponseApiKey) int { return int(a.ApiKey) - int(b.ApiKey) }))
		for _, own := range wire.OwnKeys() {
			require.Equal(t, [2]int16{own.Min, own.Max}, keys[own.Key])
		}
		for key, want := range map[int16][2]int16{
			0:  {0, 13}, // Old librdkafka looks for Produce version 0 before it compresses (KAFKA-18659).
			1:  {4, 15},
			2:  {1, 11},
			3:  {0, 13},
			17: {0, 1},
			18: {0, 5},
			19: {2, 7},
			24: {0, 5},
			57: {0, 2},
			60: {0, 2},
		} {
			require.Equal(t, want, keys[key], "key %d", key)
		}
		for _, key := range []int16{27, 28, 68, 69, 76, 78, 88, 92, 250} {
			require.NotContains(t, keys, key)
		}
		if version >= 1 {
			require.Equal(t, int32(7), resp.ThrottleMillis)
		}
		if version >= 3 {
			var tags []string
			resp.UnknownTags.Each(func(_ uint32, v []byte) { tags = append(tags, string(v)) })
			require.Equal(t, []string{"from a later Kafka"}, tags)
			n := 0
			for i := range resp.ApiKeys {
				n += resp.ApiKeys[i].UnknownTags.Len()
			}
			require.Equal(t, len(keys)-len(wire.OwnKeys()), n)
		}
		d.cfg.LeaderHints = true
		require.Equal(t, [2]int16{4, 18}, keysOf(edit(t, d, kafka44(version), 1))[1])
	}
}

func TestAPIVersionsFeatures(t *testing.T) {
	d := idleDirectory(t, testPorts)
	d.cfg.KeyRangeVersion = 1
	supported := func(resp *kmsg.ApiVersionsResponse) map[string][2]int16 {
		out := map[string][2]int16{}
		for _, f := range resp.SupportedFeatures {
			out[f.Name] = [2]int16{f.MinVersion, f.MaxVersion}
		}
		return out
	}
	resp := edit(t, d, kafka44(4), 1)
	require.Equal(t, int64(42), resp.FinalizedFeaturesEpoch)
	require.Equal(t, map[string][2]int16{
		"kraft.version": {0, 1}, "metadata.version": {7, 33}, "transaction.version": {0, 1}, "keyrange.version": {1, 1},
	}, supported(resp))
	finalized := map[string][2]int16{}
	for _, f := range resp.FinalizedFeatures {
		finalized[f.Name] = [2]int16{f.MinVersionLevel, f.MaxVersionLevel}
	}
	require.Equal(t, map[string][2]int16{"kraft.version": {1, 1}, "metadata.version": {33, 33}, "transaction.version": {1, 1}}, finalized)

	// Version 3 leaves out what has a lowest level of 0, and does not make the cache forget it.
	require.Equal(t, map[string][2]int16{"metadata.version": {7, 33}, "keyrange.version": {1, 1}}, supported(edit(t, d, kafka44(3), 1)))
	edit(t, d, kafka44(0), 1)
	require.Contains(t, supported(edit(t, d, kafka44(4), 1)), "transaction.version")

	// A broker that is not upgraded yet narrows the features of all ports, alike on each of them.
	older := kafka44(4)
	older.FinalizedFeaturesEpoch = 41
	older.SupportedFeatures = slices.DeleteFunc(older.SupportedFeatures, func(f kmsg.ApiVersionsResponseSupportedFeature) bool { return f.Name == "kraft.version" })
	for i := range older.SupportedFeatures {
		if f := &older.SupportedFeatures[i]; f.Name == "metadata.version" {
			f.MaxVersion = 30
		}
	}
	d.table.Store(tableOf(testPorts, 1, 2))
	a := edit(t, d, older, 2)
	b := edit(t, d, kafka44(4), 1)
	want := map[string][2]int16{"metadata.version": {7, 30}, "transaction.version": {0, 1}, "keyrange.version": {1, 1}}
	for _, resp := range []*kmsg.ApiVersionsResponse{a, b} {
		require.Equal(t, want, supported(resp))
		require.Equal(t, int64(42), resp.FinalizedFeaturesEpoch)
		require.Len(t, resp.FinalizedFeatures, 3)
	}
}

// TestAPIVersionsTooNew is KIP-511: an answer to a version that a broker does not know is laid out as version 0.
func TestAPIVersionsTooNew(t *testing.T) {
	d := idleDirectory(t, testPorts)
	upstream := kmsg.NewPtrApiVersionsResponse()
	upstream.ErrorCode = 35
	upstream.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MinVersion: 0, MaxVersion: 3}}
	for version := int16(3); version <= wire.APIVersionsMax; version++ {
		body, err := d.EditAPIVersions(version, upstream.AppendTo(nil), 1)
		require.NoError(t, err)
		require.Equal(t, upstream.AppendTo(nil), body)
	}
	// Before 2.4 brokers said nothing but the error.
	body, err := d.EditAPIVersions(4, []byte{0, 35, 0, 0, 0, 0}, 1)
	require.NoError(t, err)
	resp, err := decodeAPIVersions(0, body)
	require.NoError(t, err)
	require.Equal(t, map[int16][2]int16{18: {0, 5}}, keysOf(resp))
	// The same for a version that the daemon does not know, bounded by what the broker is known to support.
	older := kafka44(4)
	for i := range older.ApiKeys {
		if older.ApiKeys[i].ApiKey == 18 {
			older.ApiKeys[i].MaxVersion = 4
		}
	}
	edit(t, d, older, 1)
	resp, err = decodeAPIVersions(0, d.UnsupportedAPIVersions(1))
	require.NoError(t, err)
	require.Equal(t, int16(35), resp.ErrorCode)
	require.Equal(t, map[int16][2]int16{18: {0, 4}}, keysOf(resp))
}

func TestAPIVersionsErrorsPass(t *testing.T) {
	d := idleDirectory(t, testPorts)
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version, resp.ErrorCode = 5, 129
	body := resp.AppendTo(nil)
	got, err := d.EditAPIVersions(5, body, 1)
	require.NoError(t, err)
	require.Equal(t, body, got)
	for _, bad := range [][]byte{nil, {0}, {0, 0}, {0, 0, 0, 0, 0, 9}} {
		_, err := d.EditAPIVersions(1, bad, 1)
		require.Error(t, err)
	}
	_, err = d.EditAPIVersions(wire.APIVersionsMax+1, kafka44(5).AppendTo(nil), 1)
	require.Error(t, err)
}

func TestAPIVersionsWithoutABroker(t *testing.T) {
	d := idleDirectory(t, testPorts)
	_, err := d.APIVersions(4, 1)
	require.ErrorIs(t, err, ErrNoVersions)

	d.table.Store(tableOf(testPorts, 1, 2))
	one := edit(t, d, kafka44(4), 1)
	two := kafka44(4)
	two.ApiKeys = slices.DeleteFunc(two.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == 57 })
	for i := range two.ApiKeys {
		if two.ApiKeys[i].ApiKey == 2 {
			two.ApiKeys[i].MinVersion, two.ApiKeys[i].MaxVersion = 0, 9
		}
	}
	edit(t, d, two, 2)

	for version := range int16(wire.APIVersionsMax + 1) {
		// The port's own broker, as it said last.
		body, err := d.APIVersions(version, 1)
		require.NoError(t, err)
		resp, err := decodeAPIVersions(version, body)
		require.NoError(t, err)
		require.Equal(t, keysOf(one), keysOf(resp))
		require.Zero(t, resp.ThrottleMillis, "a throttle is not repeated")
		// On the bootstrap port, or for a broker that never answered, what all have.
		for _, broker := range []int32{-1, 5} {
			body, err = d.APIVersions(version, broker)
			require.NoError(t, err)
			resp, err = decodeAPIVersions(version, body)
			require.NoError(t, err)
			keys := keysOf(resp)
			require.NotContains(t, keys, int16(57))
			require.Equal(t, [2]int16{1, 9}, keys[2])
		}
	}
	for _, version := range []int16{-1, wire.APIVersionsMax + 1} {
		_, err := d.APIVersions(version, 1)
		require.Error(t, err)
	}
}

// TestAPIVersionsDoNotAlias overwrites the buffer of an answer, which belongs to the connection.
func TestAPIVersionsDoNotAlias(t *testing.T) {
	d := idleDirectory(t, testPorts)
	body := kafka44(4).AppendTo(nil)
	want, err := d.EditAPIVersions(4, body, 1)
	require.NoError(t, err)
	for i := range body {
		body[i] = 0xff
	}
	got, err := d.APIVersions(4, 1)
	require.NoError(t, err)
	a, err := decodeAPIVersions(4, want)
	require.NoError(t, err)
	b, err := decodeAPIVersions(4, got)
	require.NoError(t, err)
	a.ThrottleMillis = 0
	require.Equal(t, a, b)
}

func TestAPIVersionsChange(t *testing.T) {
	var c versionCache
	require.True(t, c.put(1, kafka44(4)))
	same := kafka44(4)
	same.SupportedFeatures, same.FinalizedFeatures = c.get(1).SupportedFeatures, c.get(1).FinalizedFeatures
	same.ThrottleMillis++
	same.FinalizedFeaturesEpoch++
	require.False(t, c.put(1, same))
	require.Equal(t, same.FinalizedFeaturesEpoch, c.get(1).FinalizedFeaturesEpoch)
	same.FinalizedFeatures = same.FinalizedFeatures[1:]
	require.True(t, c.put(1, same))
	require.True(t, c.put(2, same))
}

func TestAPIVersionsAreAskedFor(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(3))
	d := newDirectory(t, c.ListenAddrs(), nil)
	eventually(t, d, func() bool { return len(d.versions.all(nil)) == 3 })
	body, err := d.APIVersions(4, -1)
	require.NoError(t, err)
	resp, err := decodeAPIVersions(4, body)
	require.NoError(t, err)
	require.True(t, isGateway(resp))
	require.Contains(t, keysOf(resp), keyMetadata)
}

// TestAPIVersionsAreAskedOnce looks at the cluster again and again: between the intervals only a new broker is asked.
func TestAPIVersionsAreAskedOnce(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(2))
	var mu sync.Mutex
	asked := map[int32]int{}
	c.ControlKey(keyAPIVersions, func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		asked[c.CurrentNode()]++
		return nil, nil, false
	})
	count := func(id int32) int {
		mu.Lock()
		defer mu.Unlock()
		return asked[id]
	}
	d := newDirectory(t, c.ListenAddrs(), nil)
	eventually(t, d, func() bool { return len(d.versions.all(nil)) == 2 })
	before := [2]int{count(0), count(1)}
	_, _, err := c.AddNode(5, 0)
	require.NoError(t, err)
	eventually(t, d, func() bool { return d.versions.get(5) != nil })
	require.Positive(t, count(5))
	for range 3 {
		looked := false
		eventually(t, d, func() bool { was := looked; looked = true; return was })
	}
	// Connections begin with the same question, so there may be one more for a connection, not one for each look.
	require.LessOrEqual(t, count(0)+count(1), before[0]+before[1]+2)
	require.LessOrEqual(t, count(5), 2)
}

func FuzzEditAPIVersions(f *testing.F) {
	for version := range int16(wire.APIVersionsMax + 1) {
		f.Add(version, kafka44(version).AppendTo(nil))
	}
	f.Add(int16(4), []byte{0, 35, 0, 0, 0, 0})
	d, err := NewDirectory(DirectoryConfig{Seeds: []string{"127.0.0.1:1"}, Ports: testPorts}, zap.NewNop())
	require.NoError(f, err)
	f.Cleanup(d.Close)
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		got, err := d.EditAPIVersions(version, body, -1)
		if err != nil || len(got) < 2 {
			return
		}
		switch int16(binary.BigEndian.Uint16(got)) {
		case 0:
		case codeUnsupportedVersion:
			version = 0
		default:
			return
		}
		resp, err := decodeAPIVersions(version, got)
		require.NoError(t, err)
		if resp.ErrorCode == 0 {
			require.True(t, isGateway(resp))
		}
	})
}
