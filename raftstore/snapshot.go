package raftstore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// A snapshot, big-endian: the magic, version 1, length of the position 4, position; then records, each a byte 1, the
// key's length as an unsigned varint, the key, the value's length as an unsigned varint, the value; then a byte 0, the
// number of records 8, and the CRC-32C of everything before it 4.
const (
	snapshotMagic   = "coordsnp"
	snapshotVersion = 1
	recordMark      = 1
	endMark         = 0

	// maxPosition bounds the position in a snapshot's head; a configuration of hundreds of voters fits.
	maxPosition = 1 << 20
)

var (
	errSnapshotDamaged = errors.New("raftstore: the snapshot is damaged")
	errSnapshotVersion = errors.New("raftstore: the snapshot has a version that this program does not know")
)

// snapshotWriter streams a snapshot.
type snapshotWriter struct {
	w     *bufio.Writer
	sum   hash.Hash32
	count uint64
	head  []byte
}

func newSnapshotWriter(w io.Writer, p position) (*snapshotWriter, error) {
	sum := crc32.New(castagnoli)
	s := &snapshotWriter{w: bufio.NewWriterSize(io.MultiWriter(w, sum), 256<<10), sum: sum}
	encoded := p.encode()
	s.head = append(s.head, snapshotMagic...)
	s.head = append(s.head, snapshotVersion)
	s.head = binary.BigEndian.AppendUint32(s.head, uint32(len(encoded)))
	s.head = append(s.head, encoded...)
	_, err := s.w.Write(s.head)
	return s, err
}

func (s *snapshotWriter) record(key, value []byte) error {
	s.count++
	s.head = append(s.head[:0], recordMark)
	s.head = binary.AppendUvarint(s.head, uint64(len(key)))
	s.head = append(s.head, key...)
	s.head = binary.AppendUvarint(s.head, uint64(len(value)))
	if _, err := s.w.Write(s.head); err != nil {
		return err
	}
	_, err := s.w.Write(value)
	return err
}

func (s *snapshotWriter) close(out io.Writer) error {
	s.head = append(s.head[:0], endMark)
	s.head = binary.BigEndian.AppendUint64(s.head, s.count)
	if _, err := s.w.Write(s.head); err != nil {
		return err
	}
	if err := s.w.Flush(); err != nil {
		return err
	}
	_, err := out.Write(binary.BigEndian.AppendUint32(nil, s.sum.Sum32()))
	return err
}

// snapshotReader reads a snapshot; the end is reached only when the checksum matched.
type snapshotReader struct {
	r     *bufio.Reader
	sum   hash.Hash32
	pos   position
	count uint64
	a     arena
	buf   []byte
	one   [1]byte
}

func newSnapshotReader(r io.Reader) (*snapshotReader, error) {
	s := &snapshotReader{r: bufio.NewReaderSize(r, 256<<10), sum: crc32.New(castagnoli)}
	head, err := s.bytes(uint64(len(snapshotMagic)) + 1 + 4)
	if err != nil {
		return nil, err
	}
	if string(head[:len(snapshotMagic)]) != snapshotMagic {
		return nil, fmt.Errorf("%w: it does not begin as one", errSnapshotDamaged)
	}
	if v := head[len(snapshotMagic)]; v != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d, and this program knows %d", errSnapshotVersion, v, snapshotVersion)
	}
	n := binary.BigEndian.Uint32(head[len(snapshotMagic)+1:])
	if n > maxPosition {
		return nil, fmt.Errorf("%w: its position would have %d bytes", errSnapshotDamaged, n)
	}
	encoded, err := s.bytes(uint64(n))
	if err != nil {
		return nil, err
	}
	if s.pos, err = decodePosition(encoded); err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshotDamaged, err)
	}
	return s, nil
}

// next returns the next record, which the caller owns. ok is false, with a nil error, only after the whole snapshot
// turned out to be sound.
func (s *snapshotReader) next() (key, value []byte, ok bool, err error) {
	mark, err := s.bytes(1)
	if err != nil {
		return nil, nil, false, err
	}
	switch mark[0] {
	case recordMark:
		if key, err = s.field(); err != nil {
			return nil, nil, false, err
		}
		if value, err = s.field(); err != nil {
			return nil, nil, false, err
		}
		s.count++
		return key, value, true, nil
	case endMark:
		return nil, nil, false, s.end()
	}
	return nil, nil, false, fmt.Errorf("%w: record %d begins with the byte %d", errSnapshotDamaged, s.count, mark[0])
}

func (s *snapshotReader) end() error {
	count, err := s.bytes(8)
	if err != nil {
		return err
	}
	if n := binary.BigEndian.Uint64(count); n != s.count {
		return fmt.Errorf("%w: it claims %d records and has %d", errSnapshotDamaged, n, s.count)
	}
	want := s.sum.Sum32()
	sum, err := s.bytes(4)
	if err != nil {
		return err
	}
	if binary.BigEndian.Uint32(sum) != want {
		return fmt.Errorf("%w: its checksum does not match", errSnapshotDamaged)
	}
	if _, err := s.r.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: bytes follow its end", errSnapshotDamaged)
	}
	return nil
}

func (s *snapshotReader) field() ([]byte, error) {
	n, err := binary.ReadUvarint((*summed)(s))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshotDamaged, unexpected(err))
	}
	b, err := s.bytes(n)
	if err != nil {
		return nil, err
	}
	return s.a.copy(b), nil
}

// bytes reads n bytes, valid until the next call. It allocates no more than what is really there, and a little.
func (s *snapshotReader) bytes(n uint64) ([]byte, error) {
	const step = 1 << 20
	s.buf = s.buf[:0]
	for n > 0 {
		k := int(min(n, step))
		at := len(s.buf)
		if cap(s.buf) < at+k {
			s.buf = append(s.buf, make([]byte, k)...)
		}
		s.buf = s.buf[:at+k]
		if _, err := io.ReadFull(s.r, s.buf[at:]); err != nil {
			return nil, fmt.Errorf("%w: %w", errSnapshotDamaged, unexpected(err))
		}
		n -= uint64(k)
	}
	_, _ = s.sum.Write(s.buf) // a hash never fails
	return s.buf, nil
}

// summed reads single bytes through the checksum.
type summed snapshotReader

func (r *summed) ReadByte() (byte, error) {
	b, err := r.r.ReadByte()
	if err == nil {
		r.one[0] = b
		_, _ = r.sum.Write(r.one[:])
	}
	return b, err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
