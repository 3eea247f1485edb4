package gateway

import (
	"fmt"
	"slices"
)

// Ports says which addresses clients are told: every real broker keeps its id and has a port of its own, so that nothing
// but addresses has to be rewritten and every daemon that is configured alike gives the same answer without asking.
type Ports struct {
	Host    string // the host that clients are told
	First   int32  // the port of broker FirstID
	Last    int32  // the last port, inclusive
	FirstID int32  // the lowest broker id, ≥ 0
}

// Validate reports the first thing that is wrong with p.
func (p Ports) Validate() error {
	switch {
	case p.Host == "":
		return fmt.Errorf("the advertised host is empty")
	case len(p.Host) > 255:
		return fmt.Errorf("the advertised host has %d bytes, more than the 255 that a host name may have", len(p.Host))
	case p.First < 1 || p.First > 65535:
		return fmt.Errorf("the first broker port %d is not within 1-65535", p.First)
	case p.Last < p.First || p.Last > 65535:
		return fmt.Errorf("the last broker port %d is not within %d-65535", p.Last, p.First)
	case p.FirstID < 0:
		return fmt.Errorf("the first broker id %d is negative", p.FirstID)
	case p.FirstID > 1<<31-1-(p.Last-p.First):
		return fmt.Errorf("the first broker id %d leaves no room for %d ports", p.FirstID, p.Last-p.First+1)
	}
	return nil
}

// Port returns the port of a broker id, or false when the id is outside the range.
func (p Ports) Port(id int32) (int32, bool) {
	// The comparison is made before the sum, which could overflow for an id near the end of int32.
	if id < p.FirstID || id-p.FirstID > p.Last-p.First {
		return 0, false
	}
	return p.First + (id - p.FirstID), true
}

// LastID returns the highest broker id that has a port.
func (p Ports) LastID() int32 { return p.FirstID + (p.Last - p.First) }

// broker is a real broker as the daemon reaches it.
type broker struct {
	id   int32
	host string
	port int32
	addr string // host:port, IPv6 in brackets
	rack string
}

// Table is an immutable snapshot of the brokers of the real cluster. The zero value knows no broker.
type Table struct {
	ports      Ports
	clusterID  string
	controller int32
	ids        []int32          // live brokers that have a port, ascending
	brokers    map[int32]broker // live brokers, also those without a port
	departed   map[int32]broker // brokers with a port that were live earlier and are not listed now
}

// newTable builds a table out of the live brokers; departed keeps the last address of those that were live in prev.
func newTable(ports Ports, clusterID string, controller int32, live []broker, prev *Table) *Table {
	t := &Table{
		ports: ports, clusterID: clusterID, controller: controller,
		brokers: make(map[int32]broker, len(live)), departed: map[int32]broker{},
	}
	for _, b := range live {
		t.brokers[b.id] = b
		if _, ok := ports.Port(b.id); ok && !slices.Contains(t.ids, b.id) {
			t.ids = append(t.ids, b.id)
		}
	}
	slices.Sort(t.ids)
	if prev != nil {
		for _, old := range []map[int32]broker{prev.departed, prev.brokers} {
			for id, b := range old {
				if _, ok := ports.Port(id); !ok {
					continue
				}
				if _, ok := t.brokers[id]; !ok {
					t.departed[id] = b
				}
			}
		}
	}
	return t
}

// Advertised returns the address that clients are told for a broker id; false when the id has no port. It is pure
// arithmetic, so that Metadata, FindCoordinator and DescribeCluster can never disagree: librdkafka and Sarama reconnect
// for ever when one id has two addresses.
func (t *Table) Advertised(id int32) (host string, port int32, ok bool) {
	port, ok = t.ports.Port(id)
	if !ok {
		return "", 0, false
	}
	return t.ports.Host, port, true
}

// Upstream returns the real address of a broker that has a port: the current one, or the last one known when Kafka does
// not list the broker at present. A broker that is down is then refused at once by the dial, as a client of Kafka itself
// would see it, instead of being waited for.
func (t *Table) Upstream(id int32) (addr string, ok bool) {
	if _, ok := t.ports.Port(id); !ok {
		return "", false
	}
	if b, ok := t.brokers[id]; ok {
		return b.addr, true
	}
	if b, ok := t.departed[id]; ok {
		return b.addr, true
	}
	return "", false
}

// IDs returns the ids of the live brokers that have a port, ascending. The caller must not change the slice.
func (t *Table) IDs() []int32 { return t.ids }

// ClusterID returns Kafka's cluster.id; empty when it is not known yet.
func (t *Table) ClusterID() string { return t.clusterID }

// Coordinator returns the broker id that stands for the coordinator of a group: the winner of rendezvous hashing over the
// live brokers. It depends on the group and the ids only, so all daemons agree, and when a broker comes or goes only the
// groups that it wins or loses move. False when no broker is known.
func (t *Table) Coordinator(group string) (int32, bool) {
	if len(t.ids) == 0 {
		return 0, false
	}
	h := fnv64a(group)
	best, bestScore := t.ids[0], rendezvousScore(h, t.ids[0])
	for _, id := range t.ids[1:] {
		if s := rendezvousScore(h, id); s > bestScore {
			best, bestScore = id, s
		}
	}
	return best, true
}

// fnv64a is FNV-1a, written out because hash/fnv needs an allocation and a copy of the string.
func fnv64a(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// rendezvousScore mixes a group's hash with a broker id by the finaliser of SplitMix64. FNV alone would not do: its high
// bits hardly depend on the last bytes, so neighbouring ids would win and lose together.
func rendezvousScore(h uint64, id int32) uint64 {
	z := h + (uint64(uint32(id))+1)*0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// same reports whether two tables say the same of the live brokers.
func (t *Table) same(o *Table) bool {
	if t.clusterID != o.clusterID || t.controller != o.controller || len(t.brokers) != len(o.brokers) {
		return false
	}
	for id, b := range t.brokers {
		if o.brokers[id] != b {
			return false
		}
	}
	return true
}
