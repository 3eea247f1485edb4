package raftstore

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func encodeEnvelope(origin, sequence uint64, millis int64, commands ...[]byte) []byte {
	p := &proposer{term: 1, bound: 1 << 30, origin: origin}
	for _, c := range commands {
		if err := p.propose(1, c); err != nil {
			panic(err)
		}
	}
	b := make([]byte, envelopeHead)
	if len(p.queue) > 0 {
		b = p.queue[0].buf
	}
	putEnvelopeHead(b, origin, sequence, millis)
	return b
}

// The bytes of an envelope are on the disks of running daemons: they never change without a new format.
func TestEnvelopeGolden(t *testing.T) {
	b := encodeEnvelope(0x0102030405060708, 9, 1_700_000_000_000, []byte("ab"), nil, []byte("c"))
	require.Equal(t, "01"+"0102030405060708"+"0000000000000009"+"0000018bcfe56800"+"026162"+"00"+"0163", hex.EncodeToString(b))
	e, err := decodeEnvelope(b)
	require.NoError(t, err)
	require.Equal(t, uint64(0x0102030405060708), e.Origin)
	require.Equal(t, uint64(9), e.Sequence)
	require.Equal(t, int64(1_700_000_000_000), e.Time.UnixMilli())
	require.Equal(t, [][]byte{[]byte("ab"), {}, []byte("c")}, e.Commands)
}

func TestEnvelopeRefuses(t *testing.T) {
	good := encodeEnvelope(1, 2, 3, []byte("abc"))
	_, err := decodeEnvelope(nil)
	require.ErrorIs(t, err, errEnvelopeDamaged)
	_, err = decodeEnvelope(good[:envelopeHead-1])
	require.ErrorIs(t, err, errEnvelopeDamaged)
	_, err = decodeEnvelope(good[:len(good)-1])
	require.ErrorIs(t, err, errEnvelopeDamaged)
	huge := append(bytes.Clone(good), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01)
	_, err = decodeEnvelope(huge)
	require.ErrorIs(t, err, errEnvelopeDamaged)
	newer := bytes.Clone(good)
	newer[0] = 2
	_, err = decodeEnvelope(newer)
	require.ErrorIs(t, err, errEnvelopeFormat)
}

func FuzzEnvelope(f *testing.F) {
	f.Add(encodeEnvelope(1, 2, 3, []byte("abc"), []byte{}))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEnvelope(b)
		if err != nil {
			return
		}
		size := 0
		for _, c := range e.Commands {
			size += len(c)
		}
		if size > len(b) {
			t.Fatalf("%d bytes of commands from %d bytes", size, len(b))
		}
	})
}

func writeSnapshot(t require.TestingT, p position, records ...Change) []byte {
	var b bytes.Buffer
	w, err := newSnapshotWriter(&b, p)
	require.NoError(t, err)
	for _, r := range records {
		require.NoError(t, w.record(r.Key, r.Value))
	}
	require.NoError(t, w.close(&b))
	return b.Bytes()
}

func readSnapshot(b []byte) (p position, records []Change, err error) {
	r, err := newSnapshotReader(bytes.NewReader(b))
	if err != nil {
		return p, nil, err
	}
	for {
		k, v, ok, err := r.next()
		if err != nil || !ok {
			return r.pos, records, err
		}
		records = append(records, Change{Key: k, Value: v})
	}
}

func testPosition() position {
	return position{index: 77, term: 3, confIndex: 5, conf: raft.EncodeConfiguration(raft.Configuration{
		Servers: []raft.Server{{ID: "1", Address: "h:1"}},
	})}
}

func TestSnapshotRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SliceOfN(rapid.Byte(), 0, 9000)
		records := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Change {
			return Change{Key: value.Draw(t, "key"), Value: value.Draw(t, "value")}
		}), 0, 20).Draw(t, "records")
		p, got, err := readSnapshot(writeSnapshot(t, testPosition(), records...))
		require.NoError(t, err)
		require.Equal(t, testPosition(), p)
		require.Len(t, got, len(records))
		for i, r := range records {
			require.True(t, bytes.Equal(r.Key, got[i].Key) && bytes.Equal(r.Value, got[i].Value))
			require.NotNil(t, got[i].Value, "an empty value is not a missing one")
		}
	})
}

func TestSnapshotRefusesDamage(t *testing.T) {
	good := writeSnapshot(t, testPosition(), Change{Key: []byte("k"), Value: []byte("value")}, Change{Key: []byte("l"), Value: nil})
	for i := range good {
		_, _, err := readSnapshot(good[:i])
		require.Error(t, err, "cut at %d", i)
		_, _, err = readSnapshot(flip(good, i))
		require.Error(t, err, "changed at %d", i)
	}
	_, _, err := readSnapshot(append(bytes.Clone(good), 0))
	require.ErrorIs(t, err, errSnapshotDamaged)
}

// endless is a snapshot whose first key claims an exabyte and goes on for as long as one reads.
func TestSnapshotAllocatesOnlyWhatIsThere(t *testing.T) {
	var b bytes.Buffer
	w, err := newSnapshotWriter(&b, testPosition())
	require.NoError(t, err)
	require.NoError(t, w.w.Flush())
	b.Write([]byte{recordMark, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f})
	b.WriteString("short")
	allocated := testing.AllocsPerRun(1, func() {
		_, _, err := readSnapshot(b.Bytes())
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
	require.Less(t, allocated, 100.0)
}

func FuzzSnapshot(f *testing.F) {
	f.Add(writeSnapshot(f, testPosition(), Change{Key: []byte("k"), Value: []byte("v")}))
	f.Add([]byte(snapshotMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, records, err := readSnapshot(b)
		if err != nil {
			return
		}
		if again := writeSnapshot(t, p, records...); len(again) > len(b) {
			t.Fatalf("%d bytes became %d", len(b), len(again))
		}
	})
}

func TestPositionRefusesDamage(t *testing.T) {
	p := testPosition()
	b := p.encode()
	got, err := decodePosition(b)
	require.NoError(t, err)
	require.Equal(t, p, got)
	for i := range b {
		_, err := decodePosition(b[:i])
		require.ErrorIs(t, err, errPosition)
		_, err = decodePosition(flip(b, i))
		require.ErrorIs(t, err, errPosition)
	}
	p.conf = []byte("not a configuration")
	_, err = p.configuration()
	require.ErrorIs(t, err, errPosition)
}

func TestPositionsRememberTerms(t *testing.T) {
	var ps positions
	ps.reset(position{index: 10, term: 2})
	ps.applied(11, 2)
	ps.applied(15, 3)
	ps.applied(20, 5)
	for _, want := range []position{{index: 10, term: 2}, {index: 14, term: 2}, {index: 15, term: 3}, {index: 19, term: 3}, {index: 30, term: 5}} {
		require.Equal(t, want, ps.at(want.index))
	}
	conf := raft.Configuration{Servers: []raft.Server{{ID: "4", Address: "a:1"}}}
	ps.configured(31, conf)
	ps.configured(12, raft.Configuration{}) // replayed
	require.Equal(t, position{index: 30, term: 5, confIndex: 31, conf: raft.EncodeConfiguration(conf)}, ps.at(30))
}

func TestStateKeepsEveryKey(t *testing.T) {
	path := t.TempDir() + "/state.db"
	s, err := openState(path)
	require.NoError(t, err)
	keys := []string{"", "a", "\x00", "\x01", strings.Repeat("k", 32767), strings.Repeat("k", 32768), strings.Repeat("k", 100_000)}
	var changes []Change
	for i, k := range keys {
		changes = append(changes, Change{Key: []byte(k), Value: fmt.Append(nil, "old", i)})
		changes = append(changes, Change{Key: []byte(k), Value: fmt.Append(nil, "new", i)})
	}
	changes = append(changes, Change{Key: []byte("empty"), Value: []byte{}}, Change{Key: []byte("none")})
	require.NoError(t, s.write(testPosition(), changes, false))
	want := map[string]string{"empty": ""}
	for i, k := range keys {
		want[k] = fmt.Sprint("new", i)
	}
	read := func() map[string]string {
		m := newModel()
		f := &files{state: s}
		require.NoError(t, f.loadCopy(m, testPosition()))
		got := map[string]string{}
		for k, v := range m.values {
			got[k] = string(v)
		}
		return got
	}
	require.Equal(t, want, read())
	var gone []Change
	for _, k := range keys {
		gone = append(gone, Change{Key: []byte(k)})
	}
	require.NoError(t, s.write(position{index: 78}, gone, false))
	require.Equal(t, map[string]string{"empty": ""}, read())
	require.NoError(t, s.write(position{index: 79}, []Change{{Key: []byte("x"), Value: []byte("y")}}, true))
	require.Equal(t, map[string]string{"x": "y"}, read())
	require.NoError(t, s.Close())
	s, err = openState(path)
	require.NoError(t, err)
	defer s.Close()
	p, err := s.position()
	require.NoError(t, err)
	require.Equal(t, uint64(79), p.index)
	require.Equal(t, map[string]string{"x": "y"}, read())
}

// TestMaterialiserMerges: what waits behind a transaction becomes one, in order, and a view sees exactly its position.
func TestMaterialiserMerges(t *testing.T) {
	s, err := openState(t.TempDir() + "/state.db")
	require.NoError(t, err)
	defer s.Close()
	m := newMaterialiser(s, 0, &poison{}, nil)
	held, err := s.db.Begin(true)
	require.NoError(t, err)
	set := func(index uint64, key, value string, v chan view) {
		m.enqueue(job{pos: position{index: index, term: 1}, changes: []Change{{Key: []byte(key), Value: []byte(value)}}, view: v})
	}
	set(1, "first", "1", nil)
	require.True(t, m.busy())
	set(2, "a", "1", nil)
	set(3, "b", "1", nil)
	first := make(chan view, 1)
	set(4, "a", "2", first)
	set(5, "a", "3", nil)
	second := make(chan view, 1)
	m.enqueue(job{pos: position{index: 5, term: 1}, view: second})
	require.NoError(t, held.Rollback())
	read := func(v view) map[string]string {
		require.NoError(t, v.err)
		got := map[string]string{}
		require.NoError(t, each(values(v.tx), func(k, value []byte) error {
			got[string(k)] = string(value)
			return nil
		}))
		require.NoError(t, v.tx.Rollback())
		return got
	}
	v := <-first
	require.Equal(t, uint64(4), v.pos.index)
	require.Equal(t, map[string]string{"first": "1", "a": "2", "b": "1"}, read(v))
	v = <-second
	require.Equal(t, uint64(5), v.pos.index)
	require.Equal(t, map[string]string{"first": "1", "a": "3", "b": "1"}, read(v))
	m.enqueue(job{pos: position{index: 9, term: 2}, changes: []Change{{Key: []byte("new"), Value: []byte("1")}}, replace: true})
	set(10, "more", "1", nil)
	m.close()
	late := make(chan view, 1)
	set(11, "late", "1", late)
	require.ErrorIs(t, (<-late).err, ErrClosed)
	p, err := s.position()
	require.NoError(t, err)
	require.Equal(t, position{index: 10, term: 1}, position{index: p.index, term: p.term})
	tx, err := s.db.Begin(false)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"new": "1", "more": "1"}, read(view{tx: tx}))
}

// TestAppliedOnce: Raft may hand over entries that the loaded state holds already.
func TestAppliedOnce(t *testing.T) {
	m := newModel()
	p, err := newProposer(&Config{QueueBytes: 1}, m)
	require.NoError(t, err)
	f := &fsm{handler: m, proposer: p}
	f.restored(position{index: 10, term: 3})
	for index := uint64(9); index <= 11; index++ {
		f.Apply(&raft.Log{Index: index, Term: 3, Data: encodeEnvelope(1, 1, 1, []byte("k=v"))})
	}
	require.Equal(t, uint64(1), m.count())
	f.restored(position{index: 20, term: 3})
	f.Apply(&raft.Log{Index: 15, Term: 3, Data: encodeEnvelope(1, 1, 1, []byte("k=v"))})
	_, err = f.Snapshot()
	require.ErrorIs(t, err, raft.ErrNothingNewToSnapshot, "the state is ahead of what Raft has handed over")
}
