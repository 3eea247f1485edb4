package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// Class is what becomes of a request of one key.
type Class uint8

const (
	// Passed requests go to the broker as they are.
	Passed Class = iota
	// Own requests are ours to answer, inside the range of versions that [OwnVersions] gives.
	Own
	// Hidden keys are missing from ApiVersions and refused even if sent: what we do not serve yet, and what brokers and
	// controllers say to each other.
	Hidden
)

// Range is an inclusive range of versions of one key.
type Range struct{ Key, Min, Max int16 }

// own is the table of the versions that we serve, those of Apache Kafka 4.4. FindCoordinator is own for groups only.
var own = [...]Range{
	{Key: 8, Min: 2, Max: 10}, // OffsetCommit
	{Key: 9, Min: 1, Max: 10}, // OffsetFetch
	{Key: 10, Min: 0, Max: 6}, // FindCoordinator
	{Key: 11, Min: 0, Max: 9}, // JoinGroup; 0 is kept for librdkafka and kafka-go (KAFKA-19444)
	{Key: 12, Min: 0, Max: 4}, // Heartbeat
	{Key: 13, Min: 0, Max: 5}, // LeaveGroup
	{Key: 14, Min: 0, Max: 5}, // SyncGroup
	{Key: 15, Min: 0, Max: 6}, // DescribeGroups
	{Key: 16, Min: 0, Max: 5}, // ListGroups
	{Key: 42, Min: 0, Max: 3}, // DeleteGroups
	{Key: 47, Min: 0, Max: 0}, // OffsetDelete
}

// hidden lists the keys that no client of ours may use.
var hidden = [...]int16{
	4, 5, 6, 7, // LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown: brokers of 3.x among themselves
	27,             // WriteTxnMarkers: brokers among themselves
	28,             // TxnOffsetCommit: transactions are not served yet
	52, 53, 54, 59, // Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot: controllers
	56, 58, 62, 63, 67, // AlterPartition, Envelope, broker registration, heartbeat, AllocateProducerIds
	64, 70, 73, 80, 81, 82, 94, // registration and voters of controllers
	68, 69, // ConsumerGroupHeartbeat, ConsumerGroupDescribe: KIP-848 is not served yet
	76, 77, 78, 79, // share groups (KIP-932)
	83, 84, 85, 86, 87, // state of share groups, brokers among themselves
	88, 89, 93, // streams groups (KIP-1071)
	90, 91, 92, // offsets of share groups
}

const (
	maxKey = kmsg.MaxKey

	keyProduce       = int16(kmsg.Produce)
	keyFetch         = int16(kmsg.Fetch)
	keyOffsetCommit  = int16(kmsg.OffsetCommit)
	keyJoinGroup     = int16(kmsg.JoinGroup)
	keySyncGroup     = int16(kmsg.SyncGroup)
	keyHeartbeat     = int16(kmsg.Heartbeat)
	keySASLHandshake = int16(kmsg.SASLHandshake)
	keyAPIVersions   = int16(kmsg.ApiVersions)

	codeUnsupportedVersion = int16(35)

	// APIVersionsMax is the newest ApiVersions request that we read; a newer one is answered as KIP-511 says.
	APIVersionsMax = 5
	// FetchMaxOpaque is the newest Fetch whose response never carries an address (KIP-951 adds them in 16).
	FetchMaxOpaque = 15
)

type keyInfo struct {
	class    Class
	known    bool
	flexible int16 // first flexible version; maxInt16: none
	min, max int16 // of own keys
}

// keys is filled once and read by every connection, so that a frame costs one index and no allocation.
var keys = buildKeys()

func buildKeys() (t [maxKey + 1]keyInfo) {
	for k := range t {
		r := kmsg.RequestForKey(int16(k))
		if r == nil {
			continue
		}
		t[k].known = true
		t[k].flexible = 1<<15 - 1
		for v := int16(0); v <= r.MaxVersion(); v++ {
			if r.SetVersion(v); r.IsFlexible() {
				t[k].flexible = v
				break
			}
		}
	}
	for _, r := range own {
		t[r.Key].class, t[r.Key].min, t[r.Key].max = Own, r.Min, r.Max
	}
	for _, k := range hidden {
		t[k].class = Hidden
	}
	return t
}

func known(key int16) bool { return key >= 0 && key <= maxKey && keys[key].known }

func flexibleRequest(key, version int16) bool { return known(key) && version >= keys[key].flexible }

// ClassOf says what becomes of requests of a key. Keys that nobody knows are [Hidden].
func ClassOf(key int16) Class {
	if !known(key) {
		return Hidden
	}
	return keys[key].class
}

// OwnVersions is the range that we serve of an own key; ok is false for every other key.
func OwnVersions(key int16) (r Range, ok bool) {
	if ClassOf(key) != Own {
		return Range{}, false
	}
	return Range{Key: key, Min: keys[key].min, Max: keys[key].max}, true
}

// OwnKeys lists the keys of the table of own versions in ascending order.
func OwnKeys() []Range { return append([]Range(nil), own[:]...) }

// passedMax is the newest version of a passed key that may go through; of most keys it is whatever the broker has.
func passedMax(key int16, leaderHints bool) int16 {
	switch key {
	case keyFetch:
		if !leaderHints {
			return FetchMaxOpaque
		}
	case keySASLHandshake:
		// Version 0 is offered and refused when it is used (refuseRawSASL): librdkafka logs in with version 1, but only if
		// the range has version 0.
		return 1
	}
	return 1<<15 - 1
}

// PassedVersions is the range of versions of a passed key that may go through, before the broker's own range narrows it.
func PassedVersions(key int16, leaderHints bool) Range {
	return Range{Key: key, Min: 0, Max: passedMax(key, leaderHints)}
}

// pipelined says whether requests of a key are taken without waiting for the answers to earlier ones.
func pipelined(key int16) bool { return key == keyOffsetCommit || key == keyHeartbeat }
