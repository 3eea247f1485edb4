package group

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOffsetsBehaveLikeAMap compares the slice of offsets with a plain map under random puts and removals.
func TestOffsetsBehaveLikeAMap(t *testing.T) {
	type value struct {
		offset, commitTime, expire int64
		epoch                      int32
		metadata                   string
	}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		model := make(map[int32]value)
		o := &offsets{topic: &topic{name: "t", known: seed%2 == 0, partitions: 100}}
		for range 400 {
			partition := r.Int32N(1 << r.IntN(31))
			if r.IntN(4) == 0 {
				_, had := model[partition]
				require.Equal(t, had, o.remove(partition))
				delete(model, partition)
				continue
			}
			v := value{offset: r.Int64(), commitTime: r.Int64(), expire: -1, epoch: r.Int32()}
			if r.IntN(3) == 0 {
				v.metadata = string(rune('a' + r.IntN(3)))
			}
			if r.IntN(5) == 0 {
				v.expire = r.Int64()
			}
			o.grow(int(partition)+1, 1)
			_, had := model[partition]
			p := &OffsetPartition{Partition: partition, LeaderEpoch: v.epoch, Offset: v.offset, Metadata: v.metadata}
			require.Equal(t, !had, o.put(p, v.commitTime, v.expire))
			model[partition] = v
			require.NoError(t, o.check())
			require.LessOrEqual(t, len(o.dense), 3*o.count+2*slack, "a few offsets claim much memory")
		}
		got := make(map[int32]value)
		o.each(func(partition int32, p offset) {
			metadata, expire := o.extra(p)
			got[partition] = value{p.offset, p.commitTime, expire, p.epoch, metadata}
		})
		require.Equal(t, model, got)
	}
}

// TestDenseOffsetsTakeTheWholeTopic checks that committing a topic partition by partition, in any order, ends in a slice.
func TestDenseOffsetsTakeTheWholeTopic(t *testing.T) {
	o := &offsets{topic: &topic{name: "t", known: true, partitions: 100}}
	for _, i := range rand.New(rand.NewPCG(3, 3)).Perm(100) {
		o.grow(i+1, 1)
		o.put(&OffsetPartition{Partition: int32(i)}, 1, -1)
		require.NoError(t, o.check())
	}
	require.Len(t, o.dense, 100)
	require.Empty(t, o.sparse)
}
