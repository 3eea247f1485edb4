package group

import "encoding/binary"

// consumerProtocol is the protocol type of consumers; only then are a member's topics readable.
const consumerProtocol = "consumer"

// subscribed are the topics that a group is subscribed to. Unknown stands for any topic.
type subscribed struct {
	unknown bool
	topics  map[string]struct{}
}

func (s subscribed) has(topic string) bool {
	if s.unknown {
		return true
	}
	_, ok := s.topics[topic]
	return ok
}

// subscribed reads the topics from the members' metadata as they were when the generation began.
func (im *image) subscribed() subscribed {
	if im.protocolType != consumerProtocol {
		return subscribed{}
	}
	s := subscribed{topics: make(map[string]struct{})}
	for i := range im.members {
		at := -1
		for j := range im.members[i].Protocols {
			if im.members[i].Protocols[j].Name == im.protocol {
				at = j
				break
			}
		}
		if at < 0 || !readTopics(im.members[i].Protocols[at].Metadata, s.topics) {
			return subscribed{unknown: true}
		}
	}
	return s
}

// readTopics adds the topics of a consumer's subscription and tells whether it could be read. Only the part that every
// version begins with is looked at: clients mark versions whose fields they leave out.
func readTopics(b []byte, into map[string]struct{}) bool {
	if len(b) < 6 {
		return false
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	if n < 0 || int64(n)*2 > int64(len(b)) { // a topic has at least a length
		return false
	}
	for range n {
		if len(b) < 2 {
			return false
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		b = b[2:]
		if size < 0 || size > len(b) {
			return false
		}
		into[string(b[:size])] = struct{}{}
		b = b[size:]
	}
	return true
}
