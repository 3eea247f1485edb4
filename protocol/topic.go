package protocol

import "github.com/coordinatord/coordinatord/group"

// Topic is what is known of a topic of Kafka.
type Topic struct {
	Name       string
	ID         group.TopicID // zero: a broker older than topic ids (KIP-516), or a name that was learned without its id
	Partitions int32         // its partitions are 0 up to, but not including, this number
}

// Lookup answers from what is known at once; it never blocks.
type Lookup interface {
	ByName(name string) (Topic, bool)
	ByID(id group.TopicID) (Topic, bool)
}

// TopicRequest is a [Request] that names topics, which have to be resolved before its event can be had.
type TopicRequest interface {
	Request
	// Missing returns what known cannot vouch for: names and ids that it lacks, and names with a partition beyond the
	// known count, for a topic may have grown. Both are nil in the ordinary case.
	Missing(known Lookup) (names []string, ids []group.TopicID)
	// Resolve sorts the request's partitions into those that exist, which make up the event, and those that do not. It is
	// called once, before Event. absent is what a partition gets that known lacks: None stands for Kafka's own definite
	// answer (UNKNOWN_TOPIC_OR_PARTITION for a name, UNKNOWN_TOPIC_ID for an id); another code is used as it is, for when
	// Kafka could not be asked.
	Resolve(known Lookup, absent group.Code)
}

// NamingRequest is a [TopicRequest] that goes by topics' names, which may have passed to other topics since they were learnt.
type NamingRequest interface {
	TopicRequest
	// Aged returns the names of the request that fresh is false for; nil for a request that goes by ids.
	Aged(fresh func(name string) bool) (names []string)
}

// noTopicID is the id of no topic.
var noTopicID group.TopicID

func byID(known Lookup, id group.TopicID) (Topic, bool) {
	if id == noTopicID {
		return Topic{}, false // topics of brokers without ids all have it
	}
	return known.ByID(id)
}
