package differential

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Field is one leaf of a message: its path and its normalised value.
type Field struct{ Path, Value string }

// uuidTail finds generated member ids: a prefix, a dash and a random UUID.
var uuidTail = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// A normaliser replaces what two targets may legitimately choose for themselves: generated ids by their order of
// appearance in the script, the sequence's own prefix of group names, topic ids by topic names, the coordinator's
// address by a word when it is the one that the target advertises.
type normaliser struct {
	prefix string
	ids    map[string]int
	topics map[[16]byte]string
	// ownTopic is the name of the topic that the sequence made for itself; "" if it did not.
	ownTopic string
	host     string
	port     int32
}

func newNormaliser(prefix string, t *Target) *normaliser {
	n := &normaliser{prefix: prefix, ids: map[string]int{}, topics: map[[16]byte]string{}, host: t.Host, port: t.Port}
	for name, id := range t.Topics {
		n.topics[id] = name
	}
	return n
}

func (n *normaliser) text(s string) string {
	s = strings.ReplaceAll(s, n.prefix, "~")
	if n.ownTopic != "" {
		s = strings.ReplaceAll(s, n.ownTopic, "the topic of this sequence")
	}
	return uuidTail.ReplaceAllStringFunc(s, func(id string) string {
		num, ok := n.ids[id]
		if !ok {
			num = len(n.ids) + 1
			n.ids[id] = num
		}
		return "<uuid" + strconv.Itoa(num) + ">"
	})
}

// seen reports the number that a string's generated id already has, or a number after all known ones.
func (n *normaliser) seen(s string) int {
	if num, ok := n.ids[uuidTail.FindString(s)]; ok {
		return num
	}
	return 1 << 30
}

// flatten lists the leaves of a message in order.
func (n *normaliser) flatten(msg any) []Field {
	var out []Field
	n.walk(reflect.ValueOf(msg), "", &out)
	return out
}

func (n *normaliser) walk(v reflect.Value, path string, out *[]Field) {
	leaf := func(value string) { *out = append(*out, Field{path, value}) }
	if tags, ok := reflect.TypeAssert[kmsg.Tags](v); ok {
		tags.Each(func(key uint32, val []byte) { leaf(fmt.Sprintf("tag %d: %x", key, val)) })
		return
	}
	switch v.Kind() { //nolint:exhaustive // messages are made of these kinds and of numbers, which the default prints
	case reflect.Pointer:
		if v.IsNil() {
			leaf("null")
			return
		}
		n.walk(v.Elem(), path, out)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Name == "Version" || f.Name == "ThrottleMillis" || !f.IsExported() {
				continue
			}
			p := f.Name
			if path != "" {
				p = path + "." + p
			}
			n.walk(v.Field(i), p, out)
		}
	case reflect.Slice:
		if b, ok := reflect.TypeAssert[[]byte](v); ok {
			if b == nil {
				leaf("null bytes")
			} else {
				leaf(n.bytes(b))
			}
			return
		}
		if v.IsNil() {
			leaf("null list")
			return
		}
		leaf(fmt.Sprintf("list of %d", v.Len()))
		for i := range v.Len() {
			n.walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), out)
		}
	case reflect.Array:
		id, ok := reflect.TypeAssert[[16]byte](v)
		if !ok {
			leaf(fmt.Sprint(v.Interface()))
			return
		}
		if name, ok := n.topics[id]; ok {
			leaf("id of " + name)
		} else {
			leaf(hex.EncodeToString(id[:]))
		}
	case reflect.String:
		leaf(strconv.Quote(n.text(v.String())))
	default:
		leaf(fmt.Sprint(v.Interface()))
	}
}

func (n *normaliser) bytes(b []byte) string {
	if n.ownTopic != "" {
		b = bytes.ReplaceAll(b, []byte(n.ownTopic), []byte("own topic"))
	}
	for _, r := range string(b) {
		if r == unicode.ReplacementChar || (r < ' ' && r != '\n') {
			return "0x" + hex.EncodeToString(b)
		}
	}
	return "bytes " + strconv.Quote(n.text(string(b)))
}

// canonical sorts what Kafka leaves unordered, drops what does not belong to the sequence and blanks the target's own
// address, in place.
func (n *normaliser) canonical(req kmsg.Request, resp kmsg.Response) {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		sort.SliceStable(r.Members, func(i, j int) bool {
			return n.memberLess(r.Members[i].MemberID, r.Members[j].MemberID)
		})
	case *kmsg.DescribeGroupsResponse:
		// Groups are answered by the partition of the internal topic that they live in, in no fixed order.
		sort.SliceStable(r.Groups, func(i, j int) bool { return r.Groups[i].Group < r.Groups[j].Group })
		for _, g := range r.Groups {
			sort.SliceStable(g.Members, func(i, j int) bool {
				return n.memberLess(g.Members[i].MemberID, g.Members[j].MemberID)
			})
		}
	case *kmsg.ListGroupsResponse:
		own := []kmsg.ListGroupsResponseGroup{}
		for _, g := range r.Groups {
			if strings.HasPrefix(g.Group, n.prefix) {
				own = append(own, g)
			}
		}
		r.Groups = own
		sort.SliceStable(own, func(i, j int) bool { return own[i].Group < own[j].Group })
	case *kmsg.DeleteGroupsResponse:
		sort.SliceStable(r.Groups, func(i, j int) bool { return r.Groups[i].Group < r.Groups[j].Group })
	case *kmsg.OffsetFetchResponse:
		n.sortFetched(req, r)
	case *kmsg.FindCoordinatorResponse:
		r.Host, r.Port = n.address(r.Host, r.Port)
		for i := range r.Coordinators {
			c := &r.Coordinators[i]
			c.Host, c.Port = n.address(c.Host, c.Port)
		}
	case *kmsg.ApiVersionsResponse:
		own := r.ApiKeys[:0]
		for _, k := range r.ApiKeys {
			if ownAPIs[k.ApiKey] {
				own = append(own, k)
			}
		}
		r.ApiKeys = own
		sort.SliceStable(own, func(i, j int) bool { return own[i].ApiKey < own[j].ApiKey })
		r.SupportedFeatures, r.FinalizedFeatures, r.FinalizedFeaturesEpoch = nil, nil, 0
	}
}

func (n *normaliser) memberLess(a, b string) bool {
	if x, y := n.seen(a), n.seen(b); x != y {
		return x < y
	}
	return uuidTail.ReplaceAllString(a, "") < uuidTail.ReplaceAllString(b, "")
}

func (n *normaliser) address(host string, port int32) (string, int32) {
	if host == n.host && port == n.port {
		return "<the coordinator's advertised address>", 0
	}
	return host, port
}

// sortFetched orders the topics of groups for which all topics were asked for.
func (n *normaliser) sortFetched(req kmsg.Request, r *kmsg.OffsetFetchResponse) {
	q, ok := req.(*kmsg.OffsetFetchRequest)
	if !ok {
		return
	}
	if q.Version <= 7 && q.Topics == nil {
		sort.SliceStable(r.Topics, func(i, j int) bool { return r.Topics[i].Topic < r.Topics[j].Topic })
		for _, t := range r.Topics {
			sort.SliceStable(t.Partitions, func(i, j int) bool { return t.Partitions[i].Partition < t.Partitions[j].Partition })
		}
	}
	for i := range r.Groups {
		if i >= len(q.Groups) || q.Groups[i].Topics != nil {
			continue
		}
		g := &r.Groups[i]
		sort.SliceStable(g.Topics, func(i, j int) bool {
			return g.Topics[i].Topic+n.topics[g.Topics[i].TopicID] < g.Topics[j].Topic+n.topics[g.Topics[j].TopicID]
		})
		for _, t := range g.Topics {
			sort.SliceStable(t.Partitions, func(i, j int) bool { return t.Partitions[i].Partition < t.Partitions[j].Partition })
		}
	}
}
