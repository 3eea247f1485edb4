package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coordinatord/coordinatord/internal/httpapi"
)

// A partition that a member owns is shown before anything is committed for it, and a committed one that nobody owns as well.
func TestOffsetTable(t *testing.T) {
	end, lag := int64(9), int64(4)
	table := offsetTable(&httpapi.Group{
		Members: []httpapi.Member{{MemberID: "m", Assignment: []httpapi.TopicPartition{{Topic: "b", Partitions: []int32{10, 2}}}}},
		Offsets: []httpapi.Offset{
			{Topic: "b", Partition: 10, Offset: 5, LogEnd: &end, Lag: &lag},
			{Topic: "a", Partition: 0, Offset: 7},
		},
	})
	require.Equal(t, [][]string{
		{"a", "0", "7", "?", "?", "-"},
		{"b", "2", "-", "-", "-", "m"},
		{"b", "10", "5", "9", "4", "m"},
	}, table.rows)
}
