package gateway

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPorts(t *testing.T) {
	p := Ports{Host: "h", First: 9193, Last: 9195, FirstID: 1000}
	require.NoError(t, p.Validate())
	require.Equal(t, int32(1002), p.LastID())
	for id, want := range map[int32]int32{1000: 9193, 1002: 9195} {
		port, ok := p.Port(id)
		require.True(t, ok)
		require.Equal(t, want, port)
	}
	for _, id := range []int32{999, 1003, 0, -1, math.MaxInt32, math.MinInt32} {
		_, ok := p.Port(id)
		require.False(t, ok, "id %d", id)
	}
}

func TestPortsRefused(t *testing.T) {
	for text, p := range map[string]Ports{
		"the advertised host is empty":                              {First: 1, Last: 2},
		"the first broker port 0 is not within 1-65535":             {Host: "h", Last: 2},
		"the first broker port 70000 is not within 1-65535":         {Host: "h", First: 70000, Last: 70001},
		"the last broker port 1 is not within 2-65535":              {Host: "h", First: 2, Last: 1},
		"the last broker port 65536 is not within 2-65535":          {Host: "h", First: 2, Last: 65536},
		"the first broker id -1 is negative":                        {Host: "h", First: 1, Last: 2, FirstID: -1},
		"the first broker id 2147483647 leaves no room for 2 ports": {Host: "h", First: 1, Last: 2, FirstID: math.MaxInt32},
	} {
		require.EqualError(t, p.Validate(), text)
	}
}

func TestTableKeepsTheLastAddressOfThoseWhoLeft(t *testing.T) {
	a := newTable(testPorts, "c", 0, []broker{{id: 0, addr: "a:1"}, {id: 1, addr: "b:1"}, {id: 99, addr: "x:1"}}, nil)
	b := newTable(testPorts, "c", 0, []broker{{id: 0, addr: "a:2"}}, a)
	c := newTable(testPorts, "c", 0, []broker{{id: 0, addr: "a:2"}}, b)
	for _, table := range []*Table{b, c} {
		require.Equal(t, []int32{0}, table.IDs())
		addr, ok := table.Upstream(0)
		require.True(t, ok)
		require.Equal(t, "a:2", addr)
		addr, ok = table.Upstream(1)
		require.True(t, ok)
		require.Equal(t, "b:1", addr)
		_, ok = table.Upstream(99) // It has no port, so nobody can ask for it.
		require.False(t, ok)
	}
}
