package wire

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fill gives every field a value and every list two elements. depth says how deep the lists that stay empty lie.
func fill(v reflect.Value, emptyAt int) {
	switch k := v.Kind(); {
	case k == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), emptyAt)
	case k == reflect.Struct:
		for i := range v.NumField() {
			if n := v.Type().Field(i).Name; n != "Version" && n != "UnknownTags" {
				fill(v.Field(i), emptyAt)
			}
		}
	case k == reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte("some bytes"))
			return
		}
		if emptyAt == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), emptyAt-1)
		}
	case k == reflect.String:
		v.SetString("a text")
	case v.CanInt():
		v.SetInt(3)
	}
}

func TestLayoutsAreThoseOfKmsg(t *testing.T) {
	for _, r := range OwnKeys() {
		for v := r.Min; v <= r.Max; v++ {
			for emptyAt := range 5 {
				msg := kmsg.RequestForKey(r.Key)
				fill(reflect.ValueOf(msg).Elem(), emptyAt)
				msg.SetVersion(v)
				body := msg.AppendTo(nil)
				_, err := Decode(r.Key, v, body)
				require.NoError(t, err, "%s version %d, lists at depth %d empty", kmsg.NameForKey(r.Key), v, emptyAt)
				if layout, ok := layouts[r.Key]; ok {
					w := walker{cursor: cursor{b: body}, version: v, flexible: msg.IsFlexible()}
					w.structure(layout)
					require.False(t, w.short || w.null)
					require.Empty(t, w.b, "%s version %d", kmsg.NameForKey(r.Key), v)
				} else {
					require.False(t, hasList(reflect.TypeOf(msg).Elem()), "%s has an array and no layout", kmsg.NameForKey(r.Key))
				}
			}
		}
	}
}

func hasList(t reflect.Type) bool {
	for f := range t.Fields() {
		if f.Type.Kind() == reflect.Slice {
			return true
		}
	}
	return false
}

// TestNullsAreRefused: what Kafka 4.4 closes the connection on, and the nulls next to it that it takes.
func TestNullsAreRefused(t *testing.T) {
	const null, minusTwo, minusSeven = "\xff\xff\xff\xff", "\xff\xff\xff\xfe", "\xff\xff\xff\xf9"
	for _, c := range []struct {
		what         string
		key, version int16
		body         string
		refused      bool
	}{
		{"groups", 15, 0, null, true},
		{"groups of -2", 15, 0, minusTwo, true},
		{"no groups", 15, 0, "\x00\x00\x00\x00", false},
		{"compact groups", 15, 5, "\x00\x00\x00", true},
		{"no compact groups", 15, 5, "\x01\x00\x00", false},
		{"names", 42, 0, null, true},
		{"compact names", 42, 2, "\x00\x00", true},
		{"protocols", 11, 0, "\x00\x01g\x00\x00\x27\x10\x00\x00\x00\x08consumer" + null, true},
		{"protocols of -7", 11, 0, "\x00\x01g\x00\x00\x27\x10\x00\x00\x00\x08consumer" + minusSeven, true},
		{"metadata", 11, 0, "\x00\x01g\x00\x00\x27\x10\x00\x00\x00\x08consumer\x00\x00\x00\x01\x00\x05range" + null, true},
		{"empty metadata", 11, 0, "\x00\x01g\x00\x00\x27\x10\x00\x00\x00\x08consumer\x00\x00\x00\x01\x00\x05range\x00\x00\x00\x00", false},
		{"assignments", 14, 0, "\x00\x01g\x00\x00\x00\x01\x00\x01m" + null, true},
		{"an assignment", 14, 0, "\x00\x01g\x00\x00\x00\x01\x00\x01m\x00\x00\x00\x01\x00\x01m" + null, true},
		{"topics to commit", 8, 2, "\x00\x01g\xff\xff\xff\xff\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff" + null, true},
		{"partitions to commit", 8, 2, "\x00\x01g\xff\xff\xff\xff\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x01\x00\x01t" + null, true},
		{"topics to fetch, version 1", 9, 1, "\x00\x01g" + null, true},
		{"topics to fetch, version 2", 9, 2, "\x00\x01g" + null, false},
		{"topics to fetch of -2", 9, 2, "\x00\x01g" + minusTwo, false},
		{"partitions to fetch", 9, 2, "\x00\x01g\x00\x00\x00\x01\x00\x01t" + null, true},
		{"groups to fetch", 9, 8, "\x00\x00\x00", true},
		{"compact topics to fetch", 9, 8, "\x02\x02g\x00\x00\x00\x00", false},
		{"compact partitions to fetch", 9, 8, "\x02\x02g\x02\x02t\x00\x00\x00\x00\x00", true},
		{"members", 13, 3, "\x00\x01g" + null, true},
		{"states", 16, 4, "\x00\x00", true},
		{"types", 16, 5, "\x01\x00\x00", true},
		{"topics to delete", 47, 0, "\x00\x01g" + null, true},
		{"keys", 10, 4, "\x00\x00\x00", true},
		{"overlong lengths", 15, 5, "\x81\x80\x00\x00\x00", false},
		{"a tag twice", 15, 5, "\x01\x00\x02\x01\x01x\x01\x01x", false},
		{"bytes behind the end", 15, 0, "\x00\x00\x00\x00more", false},
	} {
		_, err := Decode(c.key, c.version, []byte(c.body))
		require.Equal(t, c.refused, err != nil, "%s: %v", c.what, err)
	}
}

func BenchmarkDecodeCommit(b *testing.B) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group = 8, "g"
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "t"
	for range 10 {
		topic.Partitions = append(topic.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
	}
	req.Topics = append(req.Topics, topic)
	body := req.AppendTo(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(8, 8, body); err != nil {
			b.Fatal(err)
		}
	}
}
