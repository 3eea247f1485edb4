package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/coordinatord/coordinatord/group"
)

// The byte form of records (docs/format.md). A record is
//
//	format byte (recordFormat) | kind byte | fields
//
// Numbers are varints as encoding/binary has them: uvarint for counts, lengths and sequence numbers, zigzag varint for
// the rest. A string or a byte string is its length and its bytes; a nullable string is its length plus one, 0 being
// null. Fields stand in the order of the functions below. Nothing follows the last field.
//
// A change of a layout is a new format byte; the decoder keeps the old one for at least one release, and testdata/records
// keeps golden bytes of each.
const recordFormat = 1

// The kind bytes. They are part of the format.
const (
	kindOffsetCommit = 1
	kindOffsetDelete = 2
	kindGroupMeta    = 3
	kindGroupDelete  = 4
	kindTopicUpsert  = 5
	kindTopicDrop    = 6
	kindGroupImage   = 7
)

// ErrRecordFormat tells that a record was written by a newer release. A node must stop rather than skip it: it would no
// longer agree with the others.
var ErrRecordFormat = errors.New("protocol: a record has a format that this release does not know")

// AppendRecord appends the byte form of rec to dst.
func AppendRecord(dst []byte, rec group.Record) []byte {
	switch r := rec.(type) {
	case *group.OffsetCommit:
		return appendOffsetCommit(append(dst, recordFormat, kindOffsetCommit), r)
	case *group.OffsetDelete:
		return appendOffsetDelete(append(dst, recordFormat, kindOffsetDelete), r)
	case *group.GroupMeta:
		return appendGroupMeta(append(dst, recordFormat, kindGroupMeta), r)
	case *group.GroupDelete:
		return appendString(append(dst, recordFormat, kindGroupDelete), r.Group)
	case *group.TopicUpsert:
		dst = appendString(append(dst, recordFormat, kindTopicUpsert), r.Name)
		dst = append(dst, r.ID[:]...)
		return appendVarint(dst, int64(r.Partitions))
	case *group.TopicDrop:
		dst = appendString(append(dst, recordFormat, kindTopicDrop), r.Name)
		return append(dst, r.ID[:]...)
	case *group.GroupImage:
		return appendGroupImage(append(dst, recordFormat, kindGroupImage), r)
	}
	panic(fmt.Sprintf("protocol: no byte form for %T", rec))
}

// DecodeRecord is the inverse of [AppendRecord]; the record shares no memory with b. An error wraps [ErrRecordFormat] for
// a format or kind that this release does not know, and is about damaged bytes otherwise.
func DecodeRecord(b []byte) (group.Record, error) {
	var d Decoder
	return d.decode(b, nil)
}

// Decoder decodes many records. It keeps the names it has seen, so that they are not allocated again. It is for one
// goroutine.
type Decoder struct{ names interner }

// Decode is [DecodeRecord], except that strings may be shared with records decoded before.
func (d *Decoder) Decode(b []byte) (group.Record, error) { return d.decode(b, &d.names) }

func (d *Decoder) decode(b []byte, names *interner) (group.Record, error) {
	r := reader{src: b, names: names}
	if f := r.byte(); r.err == nil && f != recordFormat {
		return nil, fmt.Errorf("%w: format %d, known is %d", ErrRecordFormat, f, recordFormat)
	}
	kind := r.byte()
	if r.err != nil {
		return nil, fmt.Errorf("protocol: a record of %d bytes: %w", len(b), r.err)
	}
	var rec group.Record
	switch kind {
	case kindOffsetCommit:
		rec = readOffsetCommit(&r)
	case kindOffsetDelete:
		rec = readOffsetDelete(&r)
	case kindGroupMeta:
		m := new(group.GroupMeta)
		readGroupMeta(&r, m)
		rec = m
	case kindGroupDelete:
		rec = &group.GroupDelete{Group: r.name()}
	case kindTopicUpsert:
		rec = &group.TopicUpsert{Name: r.name(), ID: r.id(), Partitions: r.int32()}
	case kindTopicDrop:
		rec = &group.TopicDrop{Name: r.name(), ID: r.id()}
	case kindGroupImage:
		rec = readGroupImage(&r)
	default:
		return nil, fmt.Errorf("%w: kind %d", ErrRecordFormat, kind)
	}
	if r.err == nil && len(r.src) > 0 {
		r.err = errTrailing
	}
	if r.err != nil {
		return nil, fmt.Errorf("protocol: a record of kind %d and %d bytes: %w", kind, len(b), r.err)
	}
	return rec, nil
}

// AppendKey appends the byte form of a key of the materialised copy: its kind and its name. Byte order is the order of
// keys.
func AppendKey(dst []byte, key group.Key) []byte {
	return append(append(dst, byte(key.Kind)), key.Name...)
}

// DecodeKey is the inverse of [AppendKey].
func DecodeKey(b []byte) (group.Key, error) {
	if len(b) == 0 {
		return group.Key{}, fmt.Errorf("protocol: a key: %w", errShort)
	}
	switch k := group.KeyKind(b[0]); k {
	case group.KindGroup, group.KindTopic:
		return group.Key{Kind: k, Name: string(b[1:])}, nil
	default:
		return group.Key{}, fmt.Errorf("protocol: a key has the kind %d, which this release does not know", b[0])
	}
}

// The flag bits of an OffsetCommit record and of a stored offset.
const (
	flagSimple = 1 << iota // Guard.Simple
	flagExpire             // an expire time follows the commit time
	flagID                 // topic: an id follows the name
)

func appendGroupMeta(dst []byte, m *group.GroupMeta) []byte {
	dst = appendString(dst, m.Group)
	dst = binary.AppendUvarint(dst, m.Sequence)
	dst = append(dst, byte(m.Phase))
	dst = appendVarint(dst, int64(m.Generation))
	dst = appendString(dst, m.ProtocolType)
	dst = appendString(dst, m.Protocol)
	dst = appendString(dst, m.Leader)
	dst = appendVarint(dst, m.StateTime)
	dst = binary.AppendUvarint(dst, uint64(len(m.Members)))
	for i := range m.Members {
		dst = appendMember(dst, &m.Members[i])
	}
	return dst
}

func appendMember(dst []byte, m *group.MemberImage) []byte {
	dst = appendString(dst, m.MemberID)
	dst = appendStringPtr(dst, m.InstanceID)
	dst = appendString(dst, m.Client.ID)
	dst = appendString(dst, m.Client.Host)
	dst = appendVarint(dst, int64(m.SessionTimeout))
	dst = appendVarint(dst, int64(m.RebalanceTimeout))
	dst = binary.AppendUvarint(dst, uint64(len(m.Protocols)))
	for _, p := range m.Protocols {
		dst = appendString(dst, p.Name)
		dst = appendBytes(dst, p.Metadata)
	}
	return appendBytes(dst, m.Assignment)
}

func readGroupMeta(r *reader, m *group.GroupMeta) {
	m.Group = r.name()
	m.Sequence = r.uvarint()
	m.Phase = group.Phase(r.byte())
	if m.Phase > group.PhaseStable {
		r.fail(errRange)
	}
	m.Generation = r.int32()
	m.ProtocolType = r.name()
	m.Protocol = r.name()
	m.Leader = r.name()
	m.StateTime = r.varint()
	if n := r.count(8); n > 0 {
		m.Members = make([]group.MemberImage, n)
	}
	for i := range m.Members {
		readMember(r, &m.Members[i])
	}
}

func readMember(r *reader, m *group.MemberImage) {
	m.MemberID = r.name()
	m.InstanceID = r.namePtr()
	m.Client.ID = r.name()
	m.Client.Host = r.name()
	m.SessionTimeout = r.int32()
	m.RebalanceTimeout = r.int32()
	if n := r.count(2); n > 0 {
		m.Protocols = make([]group.Protocol, n)
	}
	for i := range m.Protocols {
		m.Protocols[i].Name = r.name()
		m.Protocols[i].Metadata = r.bytes()
	}
	m.Assignment = r.bytes()
}
