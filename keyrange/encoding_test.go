package keyrange

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const vectors = "../testdata/keyrange"

// golden is one file of testdata/keyrange: a value and its bytes.
type golden struct {
	Kind      string `json:"kind"`
	NextLease Lease  `json:"next_lease"`
	Steps     []struct {
		Lo          uint32 `json:"lo"`
		Offset      int64  `json:"offset"`
		LeaderEpoch int32  `json:"leader_epoch"`
		Worker      Worker `json:"worker"`
		Lease       Lease  `json:"lease"`
	} `json:"steps"`
	Hex string `json:"hex"`
}

func (g *golden) bytes(t require.TestingT) []byte {
	b, err := hex.DecodeString(g.Hex)
	require.NoError(t, err)
	return b
}

func goldens(t require.TestingT) map[string]*golden {
	read := map[string]*golden{}
	for _, kind := range []string{"frontier", "ownership"} {
		files, err := filepath.Glob(filepath.Join(vectors, kind+"_*.json"))
		require.NoError(t, err)
		require.Len(t, files, 5)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			g := new(golden)
			require.NoError(t, json.Unmarshal(raw, g))
			require.Equal(t, kind, g.Kind)
			read[strings.TrimSuffix(filepath.Base(file), ".json")] = g
		}
	}
	return read
}

// TestGoldenBytes: what was written once stays readable, and what is written today does not change unnoticed.
func TestGoldenBytes(t *testing.T) {
	for name, g := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			b := g.bytes(t)
			if g.Kind == "frontier" {
				f, rest, err := DecodeFrontier(b, len(g.Steps))
				require.NoError(t, err)
				require.Empty(t, rest)
				require.Equal(t, b, f.Append(nil))
				want := Frontier{}
				for _, s := range g.Steps {
					want.Reset(Range{s.Lo, lastSlot}, Position{s.Offset, s.LeaderEpoch})
				}
				require.Len(t, g.Steps, f.Len())
				require.True(t, want.Equal(&f))
				return
			}
			o, rest, err := DecodeOwnership(b, len(g.Steps))
			require.NoError(t, err)
			require.Empty(t, rest)
			require.Equal(t, b, o.Append(nil))
			require.Equal(t, g.NextLease, o.next)
			require.Len(t, o.arcs(), len(g.Steps))
			for _, s := range g.Steps {
				r, owner := o.At(s.Lo)
				require.Equal(t, s.Lo, r.Lo)
				require.Equal(t, Owner{s.Worker, s.Lease}, owner)
			}
		})
	}
}

func TestZeroValuesHaveTheirOwnBytes(t *testing.T) {
	read := goldens(t)
	require.Equal(t, read["frontier_zero"].bytes(t), new(Frontier).Append(nil))
	require.Equal(t, read["ownership_free"].bytes(t), new(Ownership).Append(nil))
}

func TestBadBytesAreRefusedByName(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(vectors, "invalid.json"))
	require.NoError(t, err)
	var bad []struct {
		Kind  string `json:"kind"`
		Hex   string `json:"hex"`
		Limit int    `json:"limit"`
		Error string `json:"error"`
	}
	require.NoError(t, json.Unmarshal(raw, &bad))
	require.Len(t, bad, 33)
	for _, v := range bad {
		b, err := hex.DecodeString(v.Hex)
		require.NoError(t, err)
		switch v.Kind {
		case "frontier":
			_, _, err = DecodeFrontier(b, v.Limit)
		case "ownership":
			_, _, err = DecodeOwnership(b, v.Limit)
		default:
			t.Fatalf("unknown kind %q", v.Kind)
		}
		require.ErrorIs(t, err, ErrEncoding, v.Hex)
		require.EqualError(t, err, ErrEncoding.Error()+": "+v.Error, v.Hex)
	}
}

func TestEveryCutIsAnError(t *testing.T) {
	for name, g := range goldens(t) {
		b := g.bytes(t)
		for cut := range b {
			if g.Kind == "frontier" {
				_, _, err := DecodeFrontier(b[:cut], 256)
				require.ErrorIs(t, err, ErrEncoding, name)
			} else {
				_, _, err := DecodeOwnership(b[:cut], 256)
				require.ErrorIs(t, err, ErrEncoding, name)
			}
		}
	}
}

// TestACountAllocatesNothing: a length is not believed before the bytes are there.
func TestACountAllocatesNothing(t *testing.T) {
	long := append([]byte{formatVersion, 0xff, 0xff, 0xff, 0xff, 0x07}, make([]byte, 64)...)
	grown := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if _, _, err := DecodeFrontier(long, 1<<31-1); err == nil {
				b.Fatal("it was read")
			}
		}
	})
	require.Less(t, grown.AllocedBytesPerOp(), int64(1024))
}

// full returns a frontier of n steps at random slots whose offsets lie within spread of each other.
func full(n int, spread int64) Frontier {
	random := rand.New(rand.NewPCG(1, 2))
	f := NewFrontier(Position{1 << 40, 12})
	for f.Len() < n {
		slot := random.Uint32()
		r := reach(f.steps, find(f.steps, slot))
		r.Lo = slot // splits one step in two, so there is one more
		f.Reset(r, Position{1<<40 + random.Int64N(spread), 12})
	}
	return f
}

// TestAFullFrontierIsSmall: 256 steps take at most 4 KiB of memory and 3 KiB in the log.
func TestAFullFrontierIsSmall(t *testing.T) {
	f := full(256, 1<<40)
	require.LessOrEqual(t, len(f.Append(nil)), 3<<10)
	f = full(256, 100_000)
	require.LessOrEqual(t, len(f.Append(nil)), 256*9)
	f = f.Clone()
	require.LessOrEqual(t, cap(f.steps)*16, 4<<10)
}

func FuzzDecodeFrontier(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.bytes(f))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, rest, err := DecodeFrontier(b, 256)
		if err != nil {
			require.ErrorIs(t, err, ErrEncoding)
			return
		}
		require.LessOrEqual(t, got.Len(), 256)
		require.Equal(t, b, append(got.Append(nil), rest...))
		requireSteps(t, got.steps)
		for _, p := range got.All() {
			require.Equal(t, p, p.inLog(), "invariant 3")
		}
	})
}

func FuzzDecodeOwnership(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.bytes(f))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, rest, err := DecodeOwnership(b, 256)
		if err != nil {
			require.ErrorIs(t, err, ErrEncoding)
			return
		}
		require.LessOrEqual(t, got.Len(), 256)
		require.Equal(t, b, append(got.Append(nil), rest...))
		requireSteps(t, got.steps)
		for _, o := range got.All() {
			require.True(t, o.Free() || o.valid(), "invariant 4")
			require.LessOrEqual(t, o.Lease, got.next, "invariant 5")
		}
	})
}
