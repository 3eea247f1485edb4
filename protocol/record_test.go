package protocol

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coordinatord/coordinatord/group"
)

var update = flag.Bool("update", false, "write testdata/records anew")

const goldenDir = "../testdata/records"

// samples has a record of each kind in its plain form and in one that uses every field.
func samples() map[string]group.Record {
	id := group.TopicID{0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f}
	meta := group.GroupMeta{
		Group: "billing", Sequence: 300, Phase: group.PhaseStable, Generation: 7, ProtocolType: "consumer", Protocol: "range",
		Leader: "a-1", StateTime: 1764442800123,
		Members: []group.MemberImage{{
			MemberID: "a-1", Client: group.Client{ID: "a", Host: "/127.0.0.1"}, SessionTimeout: 45000, RebalanceTimeout: 300000,
			Protocols:  []group.Protocol{{Name: "range", Metadata: []byte{0, 1, 2}}, {Name: "sticky"}},
			Assignment: []byte{9, 8, 7},
		}, {
			MemberID: "i-2", InstanceID: new("i"), SessionTimeout: -1, RebalanceTimeout: math.MaxInt32,
			Protocols: []group.Protocol{{Name: "range", Metadata: []byte("x")}},
		}},
	}
	ten := group.OffsetTopic{Name: "orders", ID: id}
	for p := range int32(10) {
		ten.Partitions = append(ten.Partitions, group.OffsetPartition{Partition: p, LeaderEpoch: 4, Offset: 1_000_000 + int64(p)})
	}
	return map[string]group.Record{
		"offset_commit_ten": &group.OffsetCommit{
			Group: "billing", Guard: group.Guard{Generation: 7, MemberID: "a-1"}, CommitTime: 1764442800123, ExpireTime: -1,
			Topics: []group.OffsetTopic{ten},
		},
		"offset_commit_full": &group.OffsetCommit{
			Group: "billing", Guard: group.Guard{Generation: -1, MemberID: "m", InstanceID: new("")}, CommitTime: -5, ExpireTime: 0,
			Topics: []group.OffsetTopic{
				{Name: "no-id", Partitions: []group.OffsetPartition{
					{Partition: math.MaxInt32, LeaderEpoch: -1, Offset: math.MaxInt64, Metadata: "größe"},
					{Partition: math.MinInt32, LeaderEpoch: math.MaxInt32, Offset: math.MinInt64},
					{Partition: 0, LeaderEpoch: math.MinInt32, Offset: -1, Metadata: strings.Repeat("m", 200)},
				}},
				{Name: "", ID: id},
			},
		},
		"offset_commit_simple": &group.OffsetCommit{
			Group: "", Guard: group.Guard{Generation: -1, Simple: true}, CommitTime: 1, ExpireTime: -1,
			Topics: []group.OffsetTopic{{Name: "t", Partitions: []group.OffsetPartition{{LeaderEpoch: -1, Offset: 3}}}},
		},
		"offset_delete": &group.OffsetDelete{Group: "billing", Topics: []group.PartitionSet{{Topic: "orders", Partitions: []int32{3, 4, 0}}, {Topic: "t"}}},
		"offset_expire": &group.OffsetDelete{
			Group: "billing", Topics: []group.PartitionSet{{Topic: "orders", Partitions: []int32{math.MaxInt32, math.MinInt32}}},
			Expired: true, Before: 1764442800123, DropEmpty: true,
		},
		"group_meta":       &meta,
		"group_meta_empty": &group.GroupMeta{Group: "g", Sequence: 1},
		"group_delete":     &group.GroupDelete{Group: "billing"},
		"topic_upsert":     &group.TopicUpsert{Name: "orders", ID: id, Partitions: 6},
		"topic_drop":       &group.TopicDrop{Name: "orders", ID: id},
		"group_image": &group.GroupImage{Meta: meta, Topics: []group.StoredTopic{{
			Name: "orders", ID: id,
			Partitions: []group.StoredOffset{
				{OffsetPartition: group.OffsetPartition{Partition: 0, LeaderEpoch: 4, Offset: 10}, CommitTime: 1764442800123, ExpireTime: -1},
				{OffsetPartition: group.OffsetPartition{Partition: 1, LeaderEpoch: 4, Offset: 11, Metadata: "m"}, CommitTime: 1764442800120, ExpireTime: math.MaxInt64},
				{OffsetPartition: group.OffsetPartition{Partition: 9, LeaderEpoch: -1, Offset: 12}, CommitTime: math.MinInt64, ExpireTime: 5},
			},
		}, {Name: "empty"}}},
	}
}

// golden is one file of testdata/records.
type golden struct {
	Kind   string          `json:"kind"`
	Record json.RawMessage `json:"record"`
	Hex    string          `json:"hex"`
}

func newOfKind(kind string) group.Record {
	switch kind {
	case "OffsetCommit":
		return new(group.OffsetCommit)
	case "OffsetDelete":
		return new(group.OffsetDelete)
	case "GroupMeta":
		return new(group.GroupMeta)
	case "GroupDelete":
		return new(group.GroupDelete)
	case "TopicUpsert":
		return new(group.TopicUpsert)
	case "TopicDrop":
		return new(group.TopicDrop)
	case "GroupImage":
		return new(group.GroupImage)
	}
	return nil
}

func kindOf(r group.Record) string { return strings.TrimPrefix(fmt.Sprintf("%T", r), "*group.") }

// TestGoldenRecords: the bytes of every format that a release has written stay readable, and what is written today does
// not change unnoticed.
func TestGoldenRecords(t *testing.T) {
	if *update {
		for name, rec := range samples() {
			js, err := json.Marshal(rec)
			require.NoError(t, err)
			out, err := json.MarshalIndent(golden{kindOf(rec), js, hex.EncodeToString(AppendRecord(nil, rec))}, "", "  ")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(goldenDir, name+".json"), append(out, '\n'), 0o644))
		}
	}
	files, err := filepath.Glob(filepath.Join(goldenDir, "*.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), len(samples()))
	seen := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			var g golden
			require.NoError(t, json.Unmarshal(raw, &g))
			want := newOfKind(g.Kind)
			require.NotNil(t, want, g.Kind)
			require.NoError(t, json.Unmarshal(g.Record, want))
			b, err := hex.DecodeString(g.Hex)
			require.NoError(t, err)

			got, err := DecodeRecord(b)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, g.Hex, hex.EncodeToString(AppendRecord(nil, want)))
			seen[g.Kind] = true
		})
	}
	require.Len(t, seen, 7, "a golden record of each kind")
}

// TestCommitIsSmall: the log holds little else than commits.
func TestCommitIsSmall(t *testing.T) {
	c := samples()["offset_commit_ten"].(*group.OffsetCommit)
	ten := len(AppendRecord(nil, c))
	none := *c
	none.Topics = nil
	require.LessOrEqual(t, ten-len(AppendRecord(nil, &none))-len("orders")-16, 10*10)
}

func TestEveryCutOfARecordIsAnError(t *testing.T) {
	for name, rec := range samples() {
		b := AppendRecord(nil, rec)
		for n := range b {
			_, err := DecodeRecord(b[:n])
			require.Error(t, err, "%s cut to %d of %d bytes", name, n, len(b))
		}
		_, err := DecodeRecord(append(b, 0))
		require.ErrorIs(t, err, errTrailing, name)
	}
}

func TestUnknownFormatAndKindAreToldApartFromDamage(t *testing.T) {
	for _, b := range [][]byte{{2, kindOffsetCommit, 0}, {0}, {255, 1}, {recordFormat, 99}, {recordFormat, 0}} {
		_, err := DecodeRecord(b)
		require.ErrorIs(t, err, ErrRecordFormat, "% x", b)
	}
	for _, b := range [][]byte{nil, {recordFormat}, {recordFormat, kindGroupDelete}, {recordFormat, kindGroupDelete, 200}} {
		_, err := DecodeRecord(b)
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrRecordFormat, "% x", b)
	}
}

// TestCountsAreNotTrusted: a record of a few bytes that promises billions of partitions is refused before anything is
// allocated for them.
func TestCountsAreNotTrusted(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	for kind := byte(kindOffsetCommit); kind <= kindGroupImage; kind++ {
		for pad := range 24 {
			b := append([]byte{recordFormat, kind}, make([]byte, pad)...)
			b = append(b, huge...)
			allocated := testing.AllocsPerRun(1, func() { _, _ = DecodeRecord(b) })
			require.Less(t, allocated, 40.0)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, k := range []group.Key{{Kind: group.KindGroup, Name: "g"}, {Kind: group.KindTopic, Name: ""}} {
		got, err := DecodeKey(AppendKey(nil, k))
		require.NoError(t, err)
		require.Equal(t, k, got)
	}
	for _, b := range [][]byte{nil, {0, 'a'}, {3}} {
		_, err := DecodeKey(b)
		require.Error(t, err)
	}
}

// TestDecoderSharesNames: what comes again is not allocated again.
func TestDecoderSharesNames(t *testing.T) {
	b := AppendRecord(nil, samples()["offset_commit_ten"])
	var d Decoder
	_, err := d.Decode(b)
	require.NoError(t, err)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = d.Decode(b) }), 3.0)
}

func TestInternerIsBounded(t *testing.T) {
	var n interner
	for i := range maxInterned + 10 {
		n.intern([]byte(fmt.Sprint(i)))
	}
	require.LessOrEqual(t, len(n.m), maxInterned)
	before := len(n.m)
	require.Equal(t, strings.Repeat("x", 300), n.intern([]byte(strings.Repeat("x", 300))))
	require.Len(t, n.m, before)
}

// TestRecordsRoundTrip: any commit and any image survives.
func TestRecordsRoundTrip(t *testing.T) {
	name := rapid.StringN(0, 20, 60)
	part := rapid.Custom(func(t *rapid.T) group.OffsetPartition {
		return group.OffsetPartition{
			Partition: rapid.Int32().Draw(t, "p"), LeaderEpoch: rapid.Int32().Draw(t, "e"), Offset: rapid.Int64().Draw(t, "o"),
			Metadata: name.Draw(t, "m"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		c := &group.OffsetCommit{
			Group: name.Draw(t, "group"),
			Guard: group.Guard{
				Generation: rapid.Int32().Draw(t, "gen"), MemberID: name.Draw(t, "member"),
				InstanceID: rapid.Ptr(name, true).Draw(t, "instance"), Simple: rapid.Bool().Draw(t, "simple"),
			},
			CommitTime: rapid.Int64().Draw(t, "at"), ExpireTime: rapid.Int64().Draw(t, "expire"),
		}
		g := &group.GroupImage{Meta: group.GroupMeta{Group: c.Group, Sequence: rapid.Uint64().Draw(t, "seq")}}
		for range rapid.IntRange(0, 3).Draw(t, "topics") {
			topic := group.OffsetTopic{Name: name.Draw(t, "topic"), Partitions: rapid.SliceOfN(part, 1, 5).Draw(t, "ps")}
			copy(topic.ID[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "id"))
			c.Topics = append(c.Topics, topic)
			st := group.StoredTopic{Name: topic.Name, ID: topic.ID}
			for _, p := range topic.Partitions {
				st.Partitions = append(st.Partitions, group.StoredOffset{
					OffsetPartition: p, CommitTime: rapid.Int64().Draw(t, "ct"), ExpireTime: rapid.Int64().Draw(t, "et"),
				})
			}
			g.Topics = append(g.Topics, st)
		}
		for _, rec := range []group.Record{c, g} {
			got, err := DecodeRecord(AppendRecord(nil, rec))
			require.NoError(t, err)
			require.Equal(t, rec, got)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	for _, rec := range samples() {
		f.Add(AppendRecord(nil, rec))
	}
	f.Add([]byte{recordFormat, kindOffsetCommit, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := DecodeRecord(b)
		if err != nil {
			return
		}
		again := AppendRecord(nil, rec)
		rec2, err := DecodeRecord(again)
		require.NoError(t, err)
		require.Equal(t, rec, rec2)
		require.Equal(t, again, AppendRecord(nil, rec2))
	})
}

func BenchmarkAppendCommit(b *testing.B) {
	rec := samples()["offset_commit_ten"]
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendRecord(buf[:0], rec)
	}
}

func BenchmarkDecodeCommit(b *testing.B) {
	buf := AppendRecord(nil, samples()["offset_commit_ten"])
	var d Decoder
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(buf); err != nil {
			b.Fatal(err)
		}
	}
}
