package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/hashicorp/raft"
)

// position says up to where in the log a copy of the state reaches, and what Raft must know to go on from there.
type position struct {
	index, term uint64 // of the last entry whose commands the copy holds
	confIndex   uint64
	conf        []byte // raft.EncodeConfiguration
}

const positionFormat = 1

var errPosition = errors.New("raftstore: a position is damaged")

// A position, big-endian: format 1, index 8, term 8, configuration index 8, configuration, CRC-32C of all before it 4.
func (p *position) encode() []byte {
	b := make([]byte, 0, 1+3*8+len(p.conf)+4)
	b = append(b, positionFormat)
	b = binary.BigEndian.AppendUint64(b, p.index)
	b = binary.BigEndian.AppendUint64(b, p.term)
	b = binary.BigEndian.AppendUint64(b, p.confIndex)
	b = append(b, p.conf...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodePosition(b []byte) (position, error) {
	if len(b) < 1+3*8+4 {
		return position{}, fmt.Errorf("%w: it has %d bytes", errPosition, len(b))
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return position{}, fmt.Errorf("%w: its checksum does not match", errPosition)
	}
	if body[0] != positionFormat {
		return position{}, fmt.Errorf("%w: it has format %d, and this version knows %d", errPosition, body[0], positionFormat)
	}
	return position{
		index:     binary.BigEndian.Uint64(body[1:]),
		term:      binary.BigEndian.Uint64(body[9:]),
		confIndex: binary.BigEndian.Uint64(body[17:]),
		conf:      append([]byte(nil), body[25:]...),
	}, nil
}

// configuration decodes the voters; the bytes come from a checked file or from Raft itself.
func (p *position) configuration() (c raft.Configuration, err error) {
	if len(p.conf) == 0 {
		return raft.Configuration{}, nil
	}
	defer func() {
		// The library panics on bytes that are not a configuration.
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: its configuration cannot be read: %v", errPosition, r)
		}
	}()
	return raft.DecodeConfiguration(p.conf), nil
}

// newestConfiguration takes over a configuration that is newer than the known one.
func (p *position) newestConfiguration(index uint64, c raft.Configuration) {
	if index > p.confIndex {
		p.confIndex, p.conf = index, raft.EncodeConfiguration(c)
	}
}

// positions remembers the terms of what was applied, because the owner may collect its state at an index that lies behind
// the newest one, and the newest configuration, which is committed and therefore right for lower indexes too.
type positions struct {
	mu     sync.Mutex
	terms  []position // index and term only: the first index of each term, ascending
	newest position   // confIndex and conf only
}

// reset forgets everything before p, which is where the state was loaded.
func (ps *positions) reset(p position) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.terms = append(ps.terms[:0], position{index: p.index, term: p.term})
	ps.newest = position{confIndex: p.confIndex, conf: p.conf}
}

// applied notes the term of an entry that is being applied.
func (ps *positions) applied(index, term uint64) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if n := len(ps.terms); n == 0 || ps.terms[n-1].term != term {
		ps.terms = append(ps.terms, position{index: index, term: term})
	}
}

// configured notes a configuration that is being applied.
func (ps *positions) configured(index uint64, c raft.Configuration) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.newest.newestConfiguration(index, c)
}

// at returns the position of an index, and forgets what only lower indexes need: callers never go back.
func (ps *positions) at(index uint64) position {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for len(ps.terms) > 1 && ps.terms[1].index <= index {
		ps.terms = ps.terms[1:]
	}
	p := ps.newest
	p.index = index
	if len(ps.terms) > 0 {
		p.term = ps.terms[0].term
	}
	return p
}
