package load

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// marker is a number that occurs nowhere else in a frame.
const marker int64 = 0x7a6b5c4d3e2f1001

// CommitRequest is an OffsetCommit (v8) without a generation, as an admin tool sends it: partitions 0..n-1 of a topic.
func CommitRequest(group, topic string, partitions int, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.SetVersion(8)
	req.Group = group
	req.Generation = -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	for p := range partitions {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition = int32(p)
		rp.Offset = offset
		t.Partitions = append(t.Partitions, rp)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// Commits is the load of the benchmarks: each of conns connections commits for its share of groups in turn.
func Commits(prefix, topic string, conns, groups, partitions int) []Source {
	sources := make([]Source, conns)
	for c := range conns {
		var reqs []kmsg.Request
		for g := c; g < groups; g += conns {
			reqs = append(reqs, CommitRequest(fmt.Sprintf("%s-%d", prefix, g), topic, partitions, marker))
		}
		sources[c] = NewPatched(reqs, marker, CheckCommit)
	}
	return sources
}

// CheckCommit returns the first error in an answer to an OffsetCommit.
func CheckCommit(resp kmsg.Response) error {
	for _, t := range resp.(*kmsg.OffsetCommitResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("commit of %s/%d: %w", t.Topic, p.Partition, err)
			}
		}
	}
	return nil
}
