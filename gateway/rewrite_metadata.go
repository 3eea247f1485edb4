package gateway

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rewriteMetadata replaces the brokers. They come first in the body, so that the topics, which may be thousands, are
// copied as bytes; only when a broker must be left out are they decoded, since its partitions lose their leader.
func (d *Directory) rewriteMetadata(version int16, body []byte) ([]byte, error) {
	table := d.Table()
	newBody, ok, err := spliceMetadata(table, version, body, d.observe)
	if err != nil || ok {
		return newBody, err
	}
	return d.decodeMetadata(table, version, body)
}

// observe looks at a broker that an answer names: if it is news, the directory looks for itself.
func (d *Directory) observe(table *Table, id int32, host []byte, port int32) {
	if b, ok := table.brokers[id]; !ok || b.port != port || b.host != string(host) {
		d.refreshSoon()
	}
}

var (
	errTruncated = errors.New("the answer is truncated")
	errTrailing  = errors.New("bytes follow the end of the answer")
)

// brokerList reads the array of brokers that Metadata and the endpoints of KIP-951 have in common: id, host, port, rack
// from v1 on, tags when flexible.
type brokerList struct {
	r        kbin.Reader
	flexible bool
	rack     bool
}

// next reads one broker. rest is the encoded rack with the tags, as it was.
func (l *brokerList) next() (id int32, host []byte, port int32, rest []byte) {
	id = l.r.Int32()
	host = l.bytes()
	port = l.r.Int32()
	before := l.r.Src
	if l.rack {
		l.skipNullable()
	}
	if l.flexible {
		skipTags(&l.r)
	}
	return id, host, port, before[:len(before)-len(l.r.Src)]
}

func (l *brokerList) bytes() []byte {
	if l.flexible {
		return l.r.Span(int(l.r.Uvarint()) - 1)
	}
	return l.r.Span(int(l.r.Int16()))
}

func (l *brokerList) skipNullable() {
	n := 0
	if l.flexible {
		n = int(l.r.Uvarint()) - 1
	} else {
		n = int(l.r.Int16())
	}
	if n > 0 {
		l.r.Span(n)
	}
}

// spliceMetadata copies the answer with other brokers. False when a broker has no port.
func spliceMetadata(table *Table, version int16, body []byte, observe func(*Table, int32, []byte, int32)) ([]byte, bool, error) {
	flexible := version >= 9
	l := brokerList{r: kbin.Reader{Src: body}, flexible: flexible, rack: version >= 1}
	if version >= 3 {
		l.r.Int32() // The throttle time.
	}
	head := len(body) - len(l.r.Src)
	var count int
	if flexible {
		count = int(l.r.CompactArrayLen())
	} else {
		count = int(l.r.ArrayLen())
	}
	// The count cannot be trusted, but a broker has at least 9 bytes.
	out := make([]byte, 0, len(body)+min(max(0, count), len(l.r.Src)/9)*(len(table.ports.Host)+1)+8)
	out = append(out, body[:head]...)
	if flexible {
		out = kbin.AppendCompactArrayLen(out, max(count, 0))
	} else {
		out = kbin.AppendArrayLen(out, max(count, 0))
	}
	for range count {
		id, host, port, rest := l.next()
		if !l.r.Ok() {
			return nil, false, errTruncated
		}
		newHost, newPort, ok := table.Advertised(id)
		observe(table, id, host, port)
		if !ok {
			return nil, false, nil
		}
		out = binary.BigEndian.AppendUint32(out, uint32(id))
		if flexible {
			out = kbin.AppendCompactString(out, newHost)
		} else {
			out = kbin.AppendString(out, newHost)
		}
		out = binary.BigEndian.AppendUint32(out, uint32(newPort))
		out = append(out, rest...)
	}
	if !l.r.Ok() {
		return nil, false, errTruncated
	}
	return append(out, l.r.Src...), true, nil
}

// decodeMetadata decodes the whole answer and leaves out the brokers that have no port.
func (d *Directory) decodeMetadata(table *Table, version int16, body []byte) ([]byte, error) {
	resp := kmsg.NewPtrMetadataResponse()
	if err := decode(resp, version, body); err != nil {
		return nil, err
	}
	resp.Brokers = advertised(d, table, resp.Brokers, func(b *kmsg.MetadataResponseBroker) (int32, *string, *int32) {
		return b.NodeID, &b.Host, &b.Port
	})
	other := int32(-1)
	if len(resp.Brokers) > 0 {
		other = resp.Brokers[0].NodeID
	}
	resp.ControllerID = reachableController(table, resp.ControllerID, other)
	maskLeaders(table, resp)
	return resp.AppendTo(nil), nil
}

// maskLeaders takes the leader from partitions whose leader has no port. Replicas stay: clients need no address of them.
func maskLeaders(table *Table, resp *kmsg.MetadataResponse) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			if p.Leader < 0 {
				continue
			}
			if _, _, ok := table.Advertised(p.Leader); !ok {
				p.Leader, p.ErrorCode = -1, codeLeaderNotAvailable
			}
		}
	}
}
