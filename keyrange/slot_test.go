package keyrange

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSlotVectors: the hashes are those of the XXH64 reference implementation.
func TestSlotVectors(t *testing.T) {
	raw, err := os.ReadFile("../testdata/keyrange/slots.json")
	require.NoError(t, err)
	var vectors []struct {
		Key    *string `json:"key_hex"`
		Offset int64   `json:"offset"`
		Hash   string  `json:"hash"`
		Slot   string  `json:"slot"`
	}
	require.NoError(t, json.Unmarshal(raw, &vectors))
	require.Len(t, vectors, 10)
	for _, v := range vectors {
		var key []byte
		if v.Key != nil {
			key, err = hex.DecodeString(*v.Key)
			require.NoError(t, err)
			require.NotNil(t, key)
		}
		hash := Hash(key, v.Offset)
		require.Equal(t, v.Hash, hex.EncodeToString(bigEndian(hash, 8)))
		require.Equal(t, v.Slot, hex.EncodeToString(bigEndian(uint64(Slot(key, v.Offset)), 4)))
	}
}

func bigEndian(n uint64, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[size-1-i] = byte(n >> (8 * i))
	}
	return b
}

func TestOffsetOfAKeyedRecordDoesNotMatter(t *testing.T) {
	require.Equal(t, Slot([]byte("key"), 1), Slot([]byte("key"), 2))
	require.Equal(t, Slot([]byte{}, 1), Slot([]byte{}, 2))
	require.NotEqual(t, Slot(nil, 1), Slot(nil, 2))
}

func TestSlotDoesNotAllocate(t *testing.T) {
	key := []byte("order:2024-06-01:000017")
	var sink uint32
	require.Zero(t, testing.AllocsPerRun(100, func() { sink += Slot(key, 0) + Slot(nil, int64(sink)) }))
}
