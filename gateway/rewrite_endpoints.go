package gateway

import (
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// tagNodeEndpoints is the tag of the brokers that Produce and Fetch answers name beside the new leaders of partitions
// (KIP-951). It belongs to the tags at the very end of the body.
const tagNodeEndpoints = 0

// rewriteProduce replaces the endpoints of a Produce answer of version 10 or above. Almost all answers have none and stay
// as they are: to find that out the topics are walked over without decoding them.
func (d *Directory) rewriteProduce(version int16, body []byte) ([]byte, error) {
	if version < 10 {
		return body, nil
	}
	r := kbin.Reader{Src: body}
	for range r.CompactArrayLen() {
		if version >= 13 {
			r.Span(16) // The topic's id took the place of its name.
		} else {
			skipCompact(&r)
		}
		for range r.CompactArrayLen() {
			r.Span(4 + 2 + 8 + 8 + 8) // Partition, error code, base offset, append time, log start offset.
			for range r.CompactArrayLen() {
				r.Int32()
				skipCompactNullable(&r)
				skipTags(&r)
				if !r.Ok() {
					return nil, errTruncated
				}
			}
			skipCompactNullable(&r)
			skipTags(&r)
			if !r.Ok() {
				return nil, errTruncated
			}
		}
		skipTags(&r)
		if !r.Ok() {
			return nil, errTruncated
		}
	}
	r.Int32() // The throttle time.
	newBody, ok, err := d.spliceEndpoints(body, r)
	if err != nil || ok {
		return newBody, err
	}
	resp := kmsg.NewPtrProduceResponse()
	if err := decode(resp, version, body); err != nil {
		return nil, err
	}
	table := d.Table()
	resp.Brokers = advertised(d, table, resp.Brokers, func(b *kmsg.ProduceResponseBroker) (int32, *string, *int32) {
		return b.NodeID, &b.Host, &b.Port
	})
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			l := &resp.Topics[i].Partitions[j].CurrentLeader
			l.LeaderID, l.LeaderEpoch = reachableLeader(table, l.LeaderID, l.LeaderEpoch)
		}
	}
	return resp.AppendTo(nil), nil
}

// rewriteFetch does the same for a Fetch answer of version 16 or above, whose records are walked over as well.
func (d *Directory) rewriteFetch(version int16, body []byte) ([]byte, error) {
	if version < 16 {
		return body, nil
	}
	r := kbin.Reader{Src: body}
	r.Span(4 + 2 + 4) // Throttle time, error code, session id.
	for range r.CompactArrayLen() {
		r.Span(16) // The topic's id.
		for range r.CompactArrayLen() {
			r.Span(4 + 2 + 8 + 8 + 8) // Partition, error code, high watermark, last stable offset, log start offset.
			for range r.CompactArrayLen() {
				r.Span(8 + 8) // An aborted transaction: producer id, first offset.
				skipTags(&r)
				if !r.Ok() {
					return nil, errTruncated
				}
			}
			r.Int32() // The preferred read replica.
			skipCompactNullable(&r)
			skipTags(&r)
			if !r.Ok() {
				return nil, errTruncated
			}
		}
		skipTags(&r)
		if !r.Ok() {
			return nil, errTruncated
		}
	}
	newBody, ok, err := d.spliceEndpoints(body, r)
	if err != nil || ok {
		return newBody, err
	}
	resp := kmsg.NewPtrFetchResponse()
	if err := decode(resp, version, body); err != nil {
		return nil, err
	}
	table := d.Table()
	resp.Brokers = advertised(d, table, resp.Brokers, func(b *kmsg.FetchResponseBroker) (int32, *string, *int32) {
		return b.NodeID, &b.Host, &b.Port
	})
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			l := &resp.Topics[i].Partitions[j].CurrentLeader
			l.LeaderID, l.LeaderEpoch = reachableLeader(table, l.LeaderID, l.LeaderEpoch)
		}
	}
	return resp.AppendTo(nil), nil
}

// reachableLeader returns a hint of the current leader, or none when the leader has no port: without an address the client
// would look for an id that its metadata does not have.
func reachableLeader(table *Table, id, epoch int32) (int32, int32) {
	if id < 0 {
		return id, epoch
	}
	if _, _, ok := table.Advertised(id); ok {
		return id, epoch
	}
	return -1, -1
}

// spliceEndpoints rewrites the endpoints among the tags that r stands before, which end the body. The body itself is
// returned when there are no endpoints; false when an endpoint has no port.
func (d *Directory) spliceEndpoints(body []byte, r kbin.Reader) ([]byte, bool, error) {
	head, tags := body[:len(body)-len(r.Src)], r
	found := false
	for range r.Uvarint() {
		found = r.Uvarint() == tagNodeEndpoints || found
		r.Span(int(r.Uvarint()))
		if !r.Ok() {
			return nil, false, errTruncated
		}
	}
	switch {
	case !r.Ok():
		return nil, false, errTruncated
	case len(r.Src) > 0:
		return nil, false, errTrailing
	case !found:
		return body, true, nil
	}
	table := d.Table()
	out := append(make([]byte, 0, len(body)+256), head...)
	count := tags.Uvarint()
	out = kbin.AppendUvarint(out, count)
	for range count {
		tag := tags.Uvarint()
		value := tags.Span(int(tags.Uvarint()))
		if tag == tagNodeEndpoints {
			var ok bool
			var err error
			if value, ok, err = d.endpoints(table, value); err != nil || !ok {
				return nil, false, err
			}
		}
		out = kbin.AppendUvarint(out, tag)
		out = kbin.AppendUvarint(out, uint32(len(value)))
		out = append(out, value...)
	}
	return out, true, nil
}

// endpoints returns an array of endpoints with the advertised addresses; false when one has no port.
func (d *Directory) endpoints(table *Table, value []byte) ([]byte, bool, error) {
	l := brokerList{r: kbin.Reader{Src: value}, flexible: true, rack: true}
	count := int(l.r.CompactArrayLen())
	dst := kbin.AppendCompactArrayLen(make([]byte, 0, len(value)+64), max(count, 0))
	for range count {
		id, host, port, rest := l.next()
		if !l.r.Ok() {
			return nil, false, errTruncated
		}
		d.observe(table, id, host, port)
		newHost, newPort, ok := table.Advertised(id)
		if !ok {
			return nil, false, nil
		}
		dst = kbin.AppendInt32(dst, id)
		dst = kbin.AppendCompactString(dst, newHost)
		dst = kbin.AppendInt32(dst, newPort)
		dst = append(dst, rest...)
	}
	if !l.r.Ok() || len(l.r.Src) > 0 {
		return nil, false, errTruncated
	}
	return dst, true, nil
}

// skipTags is kmsg.SkipTags, but does not make the reader escape to the heap: every Produce answer comes through here.
func skipTags(r *kbin.Reader) {
	for range r.Uvarint() {
		r.Uvarint()
		r.Span(int(r.Uvarint()))
		if !r.Ok() {
			return
		}
	}
}

func skipCompact(r *kbin.Reader) { r.Span(int(r.Uvarint()) - 1) }

func skipCompactNullable(r *kbin.Reader) {
	if n := int(r.Uvarint()) - 1; n > 0 {
		r.Span(n)
	}
}
