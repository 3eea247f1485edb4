package raftstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"

	"go.etcd.io/bbolt"
)

// The materialised copy is the bbolt file state.db: a bucket of values, and the position that they stand for, always
// written together. A stored key is tag 0 and the key; a key that bbolt cannot hold is tag 1 and its SHA-256, and then the
// stored value begins with the key (length as an unsigned varint, bytes). A stored value ends with the CRC-32C of the
// stored key and of the value before it.
const (
	tagPlain = 0
	tagLong  = 1
)

var (
	stateMetaBucket   = []byte("meta")
	stateValuesBucket = []byte("values")
	positionKey       = []byte("position")

	errStateDamaged = errors.New("raftstore: the materialised copy is damaged")
)

// stateDB is the materialised copy.
type stateDB struct {
	db   *bbolt.DB
	file fs.FileInfo // at the time of opening
}

func openState(path string) (*stateDB, error) {
	db, err := openBolt(path, boltOptions(), stateMetaBucket, stateValuesBucket)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("raftstore: %s has gone: %w", path, err), db.Close())
	}
	return &stateDB{db: db, file: info}, nil
}

var errReplaced = errors.New("another file has taken its place")

// inPlace fails if the file was removed, or the directory with it: what is written then is gone at the end of the process,
// and another process may use the directory's new form.
func (s *stateDB) inPlace() error {
	info, err := os.Stat(s.db.Path())
	if err != nil {
		return err
	}
	if !os.SameFile(info, s.file) {
		return fmt.Errorf("%s: %w", s.db.Path(), errReplaced)
	}
	return nil
}

// position returns where the copy stands; the zero position if nothing was ever written.
func (s *stateDB) position() (position, error) {
	return guardFaults(func() (p position, err error) {
		err = s.db.View(func(tx *bbolt.Tx) error {
			p, err = positionOf(tx)
			return err
		})
		return p, err
	})
}

func positionOf(tx *bbolt.Tx) (position, error) {
	b := tx.Bucket(stateMetaBucket)
	if b == nil || tx.Bucket(stateValuesBucket) == nil {
		return position{}, fmt.Errorf("%w: a bucket is missing", errStateDamaged)
	}
	v := b.Get(positionKey)
	if v == nil {
		return position{}, nil
	}
	return decodePosition(v)
}

// write brings the copy to a position, in one synced transaction. replace drops every earlier value.
func (s *stateDB) write(p position, changes []Change, replace bool) error {
	if err := s.inPlace(); err != nil {
		return err
	}
	// Neighbouring keys share pages. The sort is stable, so the last change of a key wins.
	slices.SortStableFunc(changes, func(a, b Change) int { return bytes.Compare(a.Key, b.Key) })
	return s.db.Update(func(tx *bbolt.Tx) error {
		if replace {
			if err := tx.DeleteBucket(stateValuesBucket); err != nil {
				return err
			}
			if _, err := tx.CreateBucket(stateValuesBucket); err != nil {
				return err
			}
		}
		b := tx.Bucket(stateValuesBucket)
		for i := range changes {
			if i+1 < len(changes) && bytes.Equal(changes[i].Key, changes[i+1].Key) {
				continue
			}
			if err := putChange(b, &changes[i]); err != nil {
				return err
			}
		}
		crashpoint("state-before-commit")
		return tx.Bucket(stateMetaBucket).Put(positionKey, p.encode())
	})
}

func putChange(b *bbolt.Bucket, c *Change) error {
	key, long := storedKey(c.Key)
	if c.Value == nil {
		return b.Delete(key)
	}
	size := len(c.Value) + 4
	if long {
		size += binary.MaxVarintLen64 + len(c.Key)
	}
	v := make([]byte, 0, size)
	if long {
		v = binary.AppendUvarint(v, uint64(len(c.Key)))
		v = append(v, c.Key...)
	}
	v = append(v, c.Value...)
	return b.Put(key, binary.BigEndian.AppendUint32(v, storedSum(key, v)))
}

func storedKey(key []byte) (stored []byte, long bool) {
	if len(key) < bbolt.MaxKeySize {
		return append(append(make([]byte, 0, 1+len(key)), tagPlain), key...), false
	}
	sum := sha256.Sum256(key)
	return append([]byte{tagLong}, sum[:]...), true
}

func storedSum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// readStored undoes putChange; the result holds parts of k and v.
func readStored(k, v []byte) (key, value []byte, err error) {
	if len(k) == 0 || len(v) < 4 {
		return nil, nil, fmt.Errorf("%w: a value has %d bytes", errStateDamaged, len(v))
	}
	body := v[:len(v)-4]
	if storedSum(k, body) != binary.BigEndian.Uint32(v[len(v)-4:]) {
		return nil, nil, fmt.Errorf("%w: the checksum of a value does not match", errStateDamaged)
	}
	switch k[0] {
	case tagPlain:
		return k[1:], body, nil
	case tagLong:
		n, w := binary.Uvarint(body)
		if w <= 0 || n > uint64(len(body)-w) {
			return nil, nil, fmt.Errorf("%w: a long key is cut off", errStateDamaged)
		}
		return body[w : w+int(n)], body[w+int(n):], nil
	}
	return nil, nil, fmt.Errorf("%w: a key has the tag %d", errStateDamaged, k[0])
}

// values iterates over the copy as a transaction sees it. What it yields is owned by the caller.
func values(tx *bbolt.Tx) func() (key, value []byte, ok bool, err error) {
	c := tx.Bucket(stateValuesBucket).Cursor()
	move := c.First
	var a arena
	return func() ([]byte, []byte, bool, error) {
		k, v := move()
		move = c.Next
		if k == nil {
			return nil, nil, false, nil
		}
		key, value, err := readStored(k, v)
		if err != nil {
			return nil, nil, false, err
		}
		return a.copy(key), a.copy(value), true, nil
	}
}

// arena hands out copies of small byte slices from larger pieces: a boot copies millions.
type arena struct{ free []byte }

const arenaPiece = 64 << 10

func (a *arena) copy(b []byte) []byte {
	if len(b) == 0 {
		return []byte{} // not nil, which would mean that there is no value
	}
	if len(b) > arenaPiece/8 {
		return append([]byte(nil), b...)
	}
	if len(b) > len(a.free) {
		a.free = make([]byte, arenaPiece)
	}
	c := a.free[:len(b):len(b)]
	a.free = a.free[len(b):]
	copy(c, b)
	return c
}

func (s *stateDB) Close() error { return s.db.Close() }
