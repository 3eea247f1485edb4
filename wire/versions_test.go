package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func TestOwnVersionsAreThoseOfKafka44(t *testing.T) {
	v44 := kversion.V4_4_0()
	for _, r := range OwnKeys() {
		newest, ok := v44.LookupMaxKeyVersion(r.Key)
		require.True(t, ok, "key %d", r.Key)
		require.Equal(t, newest, r.Max, "the newest version of %s", kmsg.NameForKey(r.Key))
		require.LessOrEqual(t, r.Max, kmsg.RequestForKey(r.Key).MaxVersion())
		got, ok := OwnVersions(r.Key)
		require.True(t, ok)
		require.Equal(t, r, got)
	}
	_, ok := OwnVersions(3)
	require.False(t, ok)
}

func TestClassOf(t *testing.T) {
	for key, want := range map[int16]Class{
		0: Passed, 1: Passed, 3: Passed, 17: Passed, 18: Passed, 22: Passed, 26: Passed, 60: Passed, 75: Passed,
		8: Own, 9: Own, 10: Own, 11: Own, 12: Own, 13: Own, 14: Own, 15: Own, 16: Own, 42: Own, 47: Own,
		4: Hidden, 7: Hidden, 27: Hidden, 28: Hidden, 52: Hidden, 58: Hidden, 68: Hidden, 69: Hidden, 76: Hidden, 79: Hidden,
		83: Hidden, 88: Hidden, 93: Hidden, 94: Hidden,
		-1: Hidden, 95: Hidden, 32767: Hidden, -32768: Hidden,
	} {
		require.Equal(t, want, ClassOf(key), "key %d", key)
	}
}

// TestEveryKeyIsClassified fails when kmsg learns a key: someone has to decide whether it may pass.
func TestEveryKeyIsClassified(t *testing.T) {
	require.Equal(t, 94, kmsg.MaxKey, "a new key has appeared; decide what becomes of it in versions.go")
}

func TestPassedVersions(t *testing.T) {
	require.Equal(t, Range{Key: 1, Min: 0, Max: 15}, PassedVersions(1, false))
	require.Equal(t, int16(1<<15-1), PassedVersions(1, true).Max)
	require.Equal(t, Range{Key: 17, Min: 0, Max: 1}, PassedVersions(17, false))
	require.Equal(t, int16(0), PassedVersions(0, false).Min, "Produce keeps its minimum (KAFKA-18659)")
}
