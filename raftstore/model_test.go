package raftstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
)

// patience bounds every wait of the tests; nothing is expected to take that long.
const patience = 30 * time.Second

// outcome is how a command ended.
type outcome struct {
	index   uint64
	err     error
	unknown bool
}

// model is a Handler whose state shows every command: values by key, a count, and a checksum of all commands in order.
type model struct {
	mu      sync.Mutex
	changed *sync.Cond

	values  map[string][]byte
	dirty   map[string]bool
	index   uint64
	waiting map[Ref]func(outcome)
	next    Ref

	leading uint64 // term
	loads   []uint64
	batches int
	strange []error // violations of the contract
	settled map[Ref]outcome
	onLoad  func() error
}

func newModel() *model {
	m := &model{values: map[string][]byte{}, dirty: map[string]bool{}, waiting: map[Ref]func(outcome){}, settled: map[Ref]outcome{}}
	m.changed = sync.NewCond(&m.mu)
	return m
}

const chainKey = "\x00chain"

// apply is the model's state machine: "key=value" sets, "key" deletes, and everything goes into the chain.
func (m *model) apply(cmd []byte) {
	key, value, set := bytes.Cut(cmd, []byte("="))
	if set {
		m.values[string(key)] = bytes.Clone(value)
	} else {
		delete(m.values, string(key))
	}
	m.dirty[string(key)] = true
	chain := m.values[chainKey]
	var count uint64
	var sum uint32
	if len(chain) == 12 {
		count, sum = binary.BigEndian.Uint64(chain), binary.BigEndian.Uint32(chain[8:])
	}
	sum = crc32.Update(sum, castagnoli, cmd)
	chain = binary.BigEndian.AppendUint64(nil, count+1)
	m.values[chainKey] = binary.BigEndian.AppendUint32(chain, sum)
	m.dirty[chainKey] = true
}

func (m *model) Apply(b Batch) {
	m.mu.Lock()
	var calls []func()
	if b.Index <= m.index {
		m.strange = append(m.strange, fmt.Errorf("index %d after %d", b.Index, m.index))
	}
	if len(b.Commands) == 0 {
		m.strange = append(m.strange, fmt.Errorf("an empty batch at %d", b.Index))
	}
	if b.Refs != nil && len(b.Refs) != len(b.Commands) {
		m.strange = append(m.strange, fmt.Errorf("%d refs for %d commands", len(b.Refs), len(b.Commands)))
	}
	m.index = b.Index
	m.batches++
	for i, c := range b.Commands {
		m.apply(c)
		if b.Refs != nil {
			calls = append(calls, m.settle(b.Refs[i], outcome{index: b.Index}))
		}
	}
	m.changed.Broadcast()
	m.mu.Unlock()
	for _, c := range calls {
		c()
	}
}

func (m *model) settle(ref Ref, o outcome) func() {
	// Only a command whose fate was unknown may turn out to be committed.
	if before, ok := m.settled[ref]; ok && (!before.unknown || o.err != nil) {
		m.strange = append(m.strange, fmt.Errorf("ref %d ended twice: %+v, %+v", ref, before, o))
	}
	m.settled[ref] = o
	f := m.waiting[ref]
	delete(m.waiting, ref)
	if f == nil {
		return func() {}
	}
	return func() { f(o) }
}

func (m *model) Failed(refs []Ref, err error, unknown bool) {
	m.mu.Lock()
	var calls []func()
	for _, r := range refs {
		if err == nil {
			m.strange = append(m.strange, errors.New("failed without an error"))
		}
		calls = append(calls, m.settle(r, outcome{err: err, unknown: unknown}))
	}
	m.mu.Unlock()
	for _, c := range calls {
		c()
	}
}

func (m *model) Collect() (uint64, []Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var changes []Change
	for k := range m.dirty {
		c := Change{Key: []byte(k)}
		if v, ok := m.values[k]; ok {
			c.Value = append([]byte{}, v...)
		}
		changes = append(changes, c)
	}
	clear(m.dirty)
	return m.index, changes
}

func (m *model) Load(index uint64, next func() ([]byte, []byte, bool, error)) error {
	values := map[string][]byte{}
	for {
		k, v, ok, err := next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		values[string(k)] = v
	}
	if m.onLoad != nil {
		if err := m.onLoad(); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values, m.index = values, index
	clear(m.dirty)
	m.loads = append(m.loads, index)
	m.changed.Broadcast()
	return nil
}

func (m *model) Lead(term uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leading != 0 {
		m.strange = append(m.strange, fmt.Errorf("leads in %d and in %d", m.leading, term))
	}
	m.leading = term
	m.changed.Broadcast()
}

func (m *model) Resign(uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leading == 0 {
		m.strange = append(m.strange, errors.New("resigns without leading"))
	}
	m.leading = 0
	m.changed.Broadcast()
}

// count and state read the model.
func (m *model) count() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.values[chainKey]; len(c) == 12 {
		return binary.BigEndian.Uint64(c)
	}
	return 0
}

func (m *model) state() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.values)
}

func (m *model) complaints() []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.strange
}

// await waits until the condition holds; it is looked at whenever the model changes.
func (m *model) await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	late := time.AfterFunc(patience, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed.Broadcast()
	})
	defer late.Stop()
	deadline := time.Now().Add(patience)
	m.mu.Lock()
	defer m.mu.Unlock()
	for !cond() {
		if !time.Now().Before(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		m.changed.Wait()
	}
}

func (m *model) awaitLead(t testing.TB) {
	t.Helper()
	m.await(t, "leadership", func() bool { return m.leading != 0 })
}

// propose proposes a command and lets done know how it ended.
func (m *model) propose(s *Store, cmd string, done func(outcome)) error {
	m.mu.Lock()
	m.next++
	ref := m.next
	m.waiting[ref] = done
	m.mu.Unlock()
	err := s.Propose(ref, []byte(cmd))
	if err != nil {
		m.mu.Lock()
		delete(m.waiting, ref)
		m.mu.Unlock()
	}
	return err
}

// do proposes a command and waits.
func (m *model) do(t testing.TB, s *Store, cmd string) outcome {
	t.Helper()
	done := make(chan outcome, 1)
	if err := m.propose(s, cmd, func(o outcome) { done <- o }); err != nil {
		return outcome{err: err}
	}
	select {
	case o := <-done:
		return o
	case <-time.After(patience):
		t.Fatalf("no answer to %q", cmd)
		return outcome{}
	}
}

func (m *model) mustDo(t testing.TB, s *Store, cmd string) uint64 {
	t.Helper()
	o := m.do(t, s, cmd)
	require.NoError(t, o.err)
	return o.index
}

// testConfig is a lone voter in dir.
func testConfig(t testing.TB, dir string) Config {
	t.Helper()
	log := zap.NewNop()
	if testing.Verbose() {
		log = zaptest.NewLogger(t)
	}
	return Config{
		NodeID: 1, Dir: dir, Logger: log, SnapshotInterval: time.Hour, WriteBehind: time.Hour,
		Fatal: func(err error) { t.Errorf("fatal: %v", err) },
	}
}

// open opens a store that is closed at the end of the test, and waits until it leads.
func open(t testing.TB, cfg Config) (*Store, *model) {
	t.Helper()
	m := newModel()
	s, err := Open(cfg, m)
	require.NoError(t, err)
	t.Cleanup(func() { shut(t, s, m) })
	if cfg.lone() {
		m.awaitLead(t)
	}
	return s, m
}

func shut(t testing.TB, s *Store, m *model) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, s.Close(ctx))
	require.Empty(t, m.complaints())
}

func readCloser(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

func asNetError(err error, to *net.Error) bool { return errors.As(err, to) }
