package coordinator

// slab hands out ids for values that are looked up again soon. An id is never given out twice: its low half is the
// value's place, its high half counts how often the place was used. There is no id zero.
type slab[T any] struct {
	slots []slot[T]
	free  []uint32
	n     int
}

type slot[T any] struct {
	val  T
	uses uint32 // odd while in use
}

func (s *slab[T]) add(v T) uint64 {
	var i uint32
	if n := len(s.free); n > 0 {
		i = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		i = uint32(len(s.slots))
		s.slots = append(s.slots, slot[T]{})
	}
	sl := &s.slots[i]
	sl.val = v
	sl.uses++
	s.n++
	return uint64(sl.uses)<<32 | uint64(i)
}

func (s *slab[T]) get(id uint64) (*T, bool) {
	i := uint32(id)
	if int(i) >= len(s.slots) || s.slots[i].uses != uint32(id>>32) || s.slots[i].uses&1 == 0 {
		return nil, false
	}
	return &s.slots[i].val, true
}

func (s *slab[T]) take(id uint64) (v T, ok bool) {
	p, ok := s.get(id)
	if !ok {
		return v, false
	}
	v = *p
	var zero T
	*p = zero
	i := uint32(id)
	s.slots[i].uses++
	s.free = append(s.free, i)
	s.n--
	return v, true
}

// all visits the ids in use, in the order of their places; the value may be taken meanwhile.
func (s *slab[T]) all(f func(id uint64)) {
	for i := range s.slots {
		if u := s.slots[i].uses; u&1 == 1 {
			f(uint64(u)<<32 | uint64(i))
		}
	}
}

func (s *slab[T]) len() int { return s.n }
