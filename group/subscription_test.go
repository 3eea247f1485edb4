package group

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubscriptionIsReadByItsFirstPart(t *testing.T) {
	for name, c := range map[string]struct {
		bytes []byte
		ok    bool
		want  []string
	}{
		"version 0":              {subscription(0, "a", "b"), true, []string{"a", "b"}},
		"no topics":              {subscription(3), true, nil},
		"later fields left out":  {subscription(1, "a")[:9], true, []string{"a"}},
		"a version of tomorrow":  {subscription(99, "a"), true, []string{"a"}},
		"nothing":                {nil, false, nil},
		"a negative version":     {subscription(-1, "a"), true, []string{"a"}},
		"a negative count":       {[]byte{0, 0, 0xff, 0xff, 0xff, 0xff}, false, nil},
		"a count beyond the end": {[]byte{0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 1, 'a'}, false, nil},
		"a length beyond":        {[]byte{0, 0, 0, 0, 0, 1, 0, 2, 'a'}, false, nil},
		"a negative length":      {[]byte{0, 0, 0, 0, 0, 1, 0xff, 0xff, 'a'}, false, nil},
		"no length":              {[]byte{0, 0, 0, 0, 0, 1, 0}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := make(map[string]struct{})
			require.Equal(t, c.ok, readTopics(c.bytes, got))
			if !c.ok {
				return
			}
			require.Len(t, got, len(c.want))
			for _, topic := range c.want {
				require.Contains(t, got, topic)
			}
		})
	}
}

func FuzzSubscription(f *testing.F) {
	f.Add(subscription(1, "orders", "payments"))
	f.Add([]byte{0, 0, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		topics := make(map[string]struct{})
		if readTopics(b, topics) {
			require.LessOrEqual(t, len(topics), len(b))
		}
	})
}
