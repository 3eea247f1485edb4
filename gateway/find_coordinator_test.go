package gateway

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// tableOf returns a table with these brokers live.
func tableOf(ports Ports, ids ...int32) *Table {
	live := make([]broker, 0, len(ids))
	for _, id := range ids {
		live = append(live, broker{id: id, host: "real", port: 9092, addr: "real:9092"})
	}
	return newTable(ports, "abc", ids[0], live, nil)
}

func TestFindCoordinatorShapes(t *testing.T) {
	d := idleDirectory(t, testPorts)
	d.table.Store(tableOf(testPorts, 1, 4, 9))
	for version := range int16(7) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version = version
		req.CoordinatorKey = "g1"
		req.CoordinatorKeys = []string{"g1", "g2", "g1", ""}
		resp, local := d.FindCoordinator(req)
		require.True(t, local)
		require.Equal(t, version, resp.Version)
		// What a client sees is what survives the encoding.
		body := resp.AppendTo(nil)
		seen := kmsg.NewPtrFindCoordinatorResponse()
		require.NoError(t, decode(seen, version, body))

		id, ok := d.Table().Coordinator("g1")
		require.True(t, ok)
		if version < 4 {
			require.Zero(t, seen.ErrorCode)
			require.Equal(t, id, seen.NodeID)
			require.Equal(t, "gateway.test", seen.Host)
			require.Equal(t, testPorts.First+id, seen.Port)
			if version >= 1 {
				require.Equal(t, "NONE", *seen.ErrorMessage)
			}
			continue
		}
		// One entry for each key in the order of the request, doubles included.
		require.Len(t, seen.Coordinators, 4)
		for i, c := range seen.Coordinators {
			require.Equal(t, req.CoordinatorKeys[i], c.Key)
			id, _ := d.Table().Coordinator(c.Key)
			host, port, _ := d.Table().Advertised(id)
			require.Equal(t, [3]any{id, host, port}, [3]any{c.NodeID, c.Host, c.Port})
			require.Zero(t, c.ErrorCode)
			require.Empty(t, *c.ErrorMessage)
		}
	}
}

func TestFindCoordinatorErrors(t *testing.T) {
	d := idleDirectory(t, testPorts)
	ask := func(version int16, kind int8) (*kmsg.FindCoordinatorResponse, bool) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorType = version, kind
		req.CoordinatorKey, req.CoordinatorKeys = "k", []string{"k"}
		return d.FindCoordinator(req)
	}
	check := func(resp *kmsg.FindCoordinatorResponse, code int16, message string) {
		t.Helper()
		if resp.Version < 4 {
			require.Equal(t, []any{code, int32(-1), "", int32(-1)}, []any{resp.ErrorCode, resp.NodeID, resp.Host, resp.Port})
			require.NotEmpty(t, *resp.ErrorMessage)
			return
		}
		require.Len(t, resp.Coordinators, 1)
		c := resp.Coordinators[0]
		require.Equal(t, []any{"k", code, int32(-1), "", int32(-1), message}, []any{c.Key, c.ErrorCode, c.NodeID, c.Host, c.Port, *c.ErrorMessage})
	}
	for version := range int16(7) {
		resp, local := ask(version, 0)
		require.True(t, local)
		check(resp, 15, "") // No broker is known.
	}
	d.table.Store(tableOf(testPorts, 1))
	for version := int16(1); version < 7; version++ {
		_, local := ask(version, 1)
		require.False(t, local, "transaction coordinators are Kafka's")
		resp, local := ask(version, 2)
		require.True(t, local)
		check(resp, 42, "")
		for _, kind := range []int8{3, -1, math.MaxInt8} {
			resp, local := ask(version, kind)
			require.True(t, local)
			check(resp, 42, errorText(42))
		}
	}
	// Version 0 has no kind; a field that was never on the wire must not matter.
	resp, local := ask(0, 1)
	require.True(t, local)
	require.Zero(t, resp.ErrorCode)
}

func TestCoordinatorIsStableAndFair(t *testing.T) {
	before, after := tableOf(testPorts, 0, 1, 2), tableOf(testPorts, 0, 1, 2, 3)
	const groups = 30_000
	count := map[int32]int{}
	moved := 0
	for i := range groups {
		group := fmt.Sprintf("group-%d", i)
		a, ok := before.Coordinator(group)
		require.True(t, ok)
		count[a]++
		b, _ := after.Coordinator(group)
		if a != b {
			require.Equal(t, int32(3), b, "a group moved between brokers that stayed")
			moved++
		}
	}
	for id, n := range count {
		require.InDelta(t, groups/3, n, groups*0.02, "broker %d", id)
	}
	require.InDelta(t, groups/4, moved, groups*0.02)
	// Fixed for ever: daemons of different versions have to agree.
	for group, id := range map[string]int32{"": 0, "g1": 0, "orders": 1, "payments": 2, "größe": 2} {
		got, _ := before.Coordinator(group)
		require.Equal(t, id, got, "group %q", group)
	}
	_, ok := (&Table{}).Coordinator("g")
	require.False(t, ok)
	// A broker without a port can be nobody's coordinator.
	for i := range 100 {
		id, ok := tableOf(Ports{Host: "g", First: 1, Last: 2, FirstID: 5}, 1, 5, 6, 9).Coordinator(fmt.Sprint(i))
		require.True(t, ok)
		require.Contains(t, []int32{5, 6}, id)
	}
}

func BenchmarkCoordinator(b *testing.B) {
	table := tableOf(testPorts, 0, 1, 2)
	b.ReportAllocs()
	for b.Loop() {
		table.Coordinator("a-group-of-a-usual-length")
	}
}
