package protocol

// maxInterned and maxInternedLen bound what an interner holds: at most about 16 MiB.
const (
	maxInterned    = 65536
	maxInternedLen = 256
)

// interner gives equal strings the same memory. Names of groups, topics and members come back with every commit. A nil
// interner just copies.
type interner struct{ m map[string]string }

func (t *interner) intern(b []byte) string {
	if t == nil || len(b) > maxInternedLen {
		return string(b)
	}
	if s, ok := t.m[string(b)]; ok { // the compiler does not allocate for this lookup
		return s
	}
	if t.m == nil || len(t.m) >= maxInterned {
		t.m = make(map[string]string)
	}
	s := string(b)
	t.m[s] = s
	return s
}
