package differential

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The keys of the APIs that the daemon answers itself.
const (
	keyOffsetCommit    int16 = 8
	keyOffsetFetch     int16 = 9
	keyFindCoordinator int16 = 10
	keyJoinGroup       int16 = 11
	keyHeartbeat       int16 = 12
	keyLeaveGroup      int16 = 13
	keySyncGroup       int16 = 14
	keyDescribeGroups  int16 = 15
	keyListGroups      int16 = 16
	keyAPIVersions     int16 = 18
	keyDeleteGroups    int16 = 42
	keyOffsetDelete    int16 = 47
)

// versions are the inclusive ranges that Apache Kafka 4.4.0 serves.
var versions = map[int16][2]int16{
	keyOffsetCommit: {2, 10}, keyOffsetFetch: {1, 10}, keyFindCoordinator: {0, 6}, keyJoinGroup: {0, 9},
	keyHeartbeat: {0, 4}, keyLeaveGroup: {0, 5}, keySyncGroup: {0, 5}, keyDescribeGroups: {0, 6},
	keyListGroups: {0, 5}, keyAPIVersions: {0, 5}, keyDeleteGroups: {0, 3}, keyOffsetDelete: {0, 0},
}

// apiOrder is the order of the table's columns.
var apiOrder = []int16{
	keyOffsetCommit, keyOffsetFetch, keyFindCoordinator, keyJoinGroup, keyHeartbeat, keyLeaveGroup, keySyncGroup,
	keyDescribeGroups, keyListGroups, keyAPIVersions, keyDeleteGroups, keyOffsetDelete,
}

var ownAPIs = func() map[int16]bool {
	m := map[int16]bool{}
	for _, k := range apiOrder {
		m[k] = true
	}
	return m
}()

func apiName(key int16) string {
	if name := kmsg.NameForKey(key); name != "" {
		return name
	}
	return fmt.Sprintf("api %d", key)
}

// codes lists every error code of an answer: the top-level one where the layout has it, then the nested ones.
func codes(resp kmsg.Response) []int16 {
	var out []int16
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		out = append(out, r.ErrorCode)
	case *kmsg.SyncGroupResponse:
		out = append(out, r.ErrorCode)
	case *kmsg.HeartbeatResponse:
		out = append(out, r.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		out = append(out, r.ErrorCode)
		for _, m := range r.Members {
			out = append(out, m.ErrorCode)
		}
	case *kmsg.OffsetCommitResponse:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out = append(out, p.ErrorCode)
			}
		}
	case *kmsg.OffsetFetchResponse:
		if r.Version >= 2 && r.Version <= 7 {
			out = append(out, r.ErrorCode)
		}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out = append(out, p.ErrorCode)
			}
		}
		for _, g := range r.Groups {
			out = append(out, g.ErrorCode)
			for _, t := range g.Topics {
				for _, p := range t.Partitions {
					out = append(out, p.ErrorCode)
				}
			}
		}
	case *kmsg.OffsetDeleteResponse:
		out = append(out, r.ErrorCode)
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out = append(out, p.ErrorCode)
			}
		}
	case *kmsg.DescribeGroupsResponse:
		for _, g := range r.Groups {
			out = append(out, g.ErrorCode)
		}
	case *kmsg.ListGroupsResponse:
		out = append(out, r.ErrorCode)
	case *kmsg.DeleteGroupsResponse:
		for _, g := range r.Groups {
			out = append(out, g.ErrorCode)
		}
	case *kmsg.FindCoordinatorResponse:
		if r.Version <= 3 {
			out = append(out, r.ErrorCode)
		}
		for _, c := range r.Coordinators {
			out = append(out, c.ErrorCode)
		}
	case *kmsg.ApiVersionsResponse:
		out = append(out, r.ErrorCode)
	}
	return out
}

// An era is a client's age: one number that picks a version of every API, so that a sequence over several APIs can be
// played once per age and every version of every API is met.
type era int16

func (e era) of(key int16) int16 {
	r := versions[key]
	return max(r[0], min(int16(e), r[1]))
}

// eras lists the ages from lo to hi.
func eras(lo, hi era) []era {
	var out []era
	for e := lo; e <= hi; e++ {
		out = append(out, e)
	}
	return out
}
