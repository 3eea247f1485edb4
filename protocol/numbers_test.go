package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

// TestNumbersAreBounded: a request may name as much as its bound, and one that names more has no answer.
func TestNumbersAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		bound int
		make  func(n int) kmsg.Request
	}{
		"describe": {maxGroups, func(n int) kmsg.Request { return &kmsg.DescribeGroupsRequest{Groups: make([]string, n)} }},
		"delete":   {maxGroups, func(n int) kmsg.Request { return &kmsg.DeleteGroupsRequest{Groups: make([]string, n)} }},
		"fetch of groups": {maxGroups, func(n int) kmsg.Request {
			return &kmsg.OffsetFetchRequest{Version: 8, Groups: make([]kmsg.OffsetFetchRequestGroup, n)}
		}},
		"fetch of topics": {maxPartitions, func(n int) kmsg.Request {
			return &kmsg.OffsetFetchRequest{Version: 1, Topics: make([]kmsg.OffsetFetchRequestTopic, n)}
		}},
		"fetch of partitions": {maxPartitions, func(n int) kmsg.Request {
			return &kmsg.OffsetFetchRequest{Version: 1, Topics: []kmsg.OffsetFetchRequestTopic{{Partitions: make([]int32, n-1)}}}
		}},
		"fetch of groups' partitions": {maxPartitions, func(n int) kmsg.Request {
			half := []kmsg.OffsetFetchRequestGroupTopic{{Partitions: make([]int32, n/2-1)}}
			rest := []kmsg.OffsetFetchRequestGroupTopic{{Partitions: make([]int32, n-n/2-1)}}
			return &kmsg.OffsetFetchRequest{Version: 8, Groups: []kmsg.OffsetFetchRequestGroup{{Topics: half}, {Topics: rest}}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			fresh := func() string { return "" }
			_, err := New(c.make(c.bound), group.Client{}, fresh)
			require.NoError(t, err)
			_, err = New(c.make(c.bound+1), group.Client{}, fresh)
			require.ErrorContains(t, err, "more than")
		})
	}
}
