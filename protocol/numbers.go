package protocol

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bounds of what one request may name, where each thing named takes far more bytes in the answer and on the way to it than
// in the request. Kafka has no such bounds.
const (
	maxGroups     = 100_000   // in DescribeGroups, DeleteGroups and OffsetFetch
	maxPartitions = 1_000_000 // in OffsetFetch, over all groups; a topic counts as one more
)

// checkNumbers refuses a request that names more than has to be answered.
func checkNumbers(msg kmsg.Request) error {
	groups, partitions := 0, 0
	switch m := msg.(type) {
	case *kmsg.DescribeGroupsRequest:
		groups = len(m.Groups)
	case *kmsg.DeleteGroupsRequest:
		groups = len(m.Groups)
	case *kmsg.OffsetFetchRequest:
		groups = len(m.Groups)
		for i := range m.Topics {
			partitions += 1 + len(m.Topics[i].Partitions)
		}
		for i := range m.Groups {
			for j := range m.Groups[i].Topics {
				partitions += 1 + len(m.Groups[i].Topics[j].Partitions)
			}
		}
	}
	if groups > maxGroups {
		return fmt.Errorf("protocol: %s names %d groups, more than %d", kmsg.NameForKey(msg.Key()), groups, maxGroups)
	}
	if partitions > maxPartitions {
		return fmt.Errorf("protocol: %s names %d topics and partitions, more than %d", kmsg.NameForKey(msg.Key()), partitions, maxPartitions)
	}
	return nil
}
