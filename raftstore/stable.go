package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

var stableBucket = []byte("stable")

// errNotFound has the text that Raft compares with.
var errNotFound = errors.New("not found")

// boltStable is raft.StableStore: the term and the vote. It is written a few times per election.
type boltStable struct {
	db     *bbolt.DB
	poison *poison
}

func openBoltStable(path string, p *poison) (*boltStable, error) {
	opts := boltOptions()
	opts.InitialMmapSize = 0
	db, err := openBolt(path, opts, stableBucket)
	if err != nil {
		return nil, err
	}
	_, err = guardFaults(func() (struct{}, error) {
		return struct{}{}, db.View(func(tx *bbolt.Tx) error {
			b := tx.Bucket(stableBucket)
			if b == nil {
				return fmt.Errorf("the bucket %q is missing", stableBucket)
			}
			return b.ForEach(func(_, _ []byte) error { return nil })
		})
	})
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	return &boltStable{db: db, poison: p}, nil
}

// Set stores a value, synced.
func (s *boltStable) Set(key, val []byte) error {
	if s.poison.failed.Load() {
		return errPoisoned
	}
	err := s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(stableBucket).Put(key, val) })
	if err != nil {
		return s.poison.fail(fmt.Errorf("raftstore: Raft's term or vote cannot be written: %w", err))
	}
	return nil
}

// Get returns a value, or the error "not found".
func (s *boltStable) Get(key []byte) (val []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		v := tx.Bucket(stableBucket).Get(key)
		if v == nil {
			return errNotFound
		}
		val = append([]byte{}, v...)
		return nil
	})
	return val, err
}

// SetUint64 stores a number, synced.
func (s *boltStable) SetUint64(key []byte, val uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

// GetUint64 returns a number, or the error "not found".
func (s *boltStable) GetUint64(key []byte) (uint64, error) {
	v, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(v) != 8 {
		return 0, fmt.Errorf("%w: the value of %q has %d bytes", ErrDamaged, key, len(v))
	}
	return binary.BigEndian.Uint64(v), nil
}

func (s *boltStable) Close() error { return s.db.Close() }
