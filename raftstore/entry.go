package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/hashicorp/raft"
)

// castagnoli is the polynomial of every checksum that this package writes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An entry of the bbolt log, big-endian: format 1, type, term 8, time appended 8 (Unix nanoseconds, 0 for none), length
// of the extensions 4, extensions, data, CRC-32C of all before it 4. The index is the key.
const (
	entryFormat   = 1
	entryHead     = 1 + 1 + 8 + 8 + 4
	entryOverhead = entryHead + 4
)

var errEntryDamaged = errors.New("raftstore: an entry of the log is damaged")

func appendEntry(b []byte, l *raft.Log) []byte {
	start := len(b)
	b = append(b, entryFormat, byte(l.Type))
	b = binary.BigEndian.AppendUint64(b, l.Term)
	var at int64
	if !l.AppendedAt.IsZero() {
		at = l.AppendedAt.UnixNano()
	}
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	b = binary.BigEndian.AppendUint32(b, uint32(len(l.Extensions)))
	b = append(b, l.Extensions...)
	b = append(b, l.Data...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// decodeEntry fills l from a stored entry; l keeps no part of b.
func decodeEntry(index uint64, b []byte, l *raft.Log) error {
	if len(b) < entryOverhead {
		return fmt.Errorf("%w: index %d has %d bytes", errEntryDamaged, index, len(b))
	}
	if b[0] != entryFormat {
		return fmt.Errorf("%w: index %d has format %d", errEntryDamaged, index, b[0])
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return fmt.Errorf("%w: the checksum of index %d does not match", errEntryDamaged, index)
	}
	ext := uint64(binary.BigEndian.Uint32(body[18:]))
	rest := body[entryHead:]
	if ext > uint64(len(rest)) {
		return fmt.Errorf("%w: index %d claims %d bytes of extensions", errEntryDamaged, index, ext)
	}
	*l = raft.Log{Index: index, Type: raft.LogType(body[1]), Term: binary.BigEndian.Uint64(body[2:])}
	if at := int64(binary.BigEndian.Uint64(body[10:])); at != 0 {
		l.AppendedAt = time.Unix(0, at)
	}
	owned := append([]byte(nil), rest...)
	if ext > 0 {
		l.Extensions = owned[:ext:ext]
	}
	l.Data = owned[ext:]
	return nil
}
