package group

// Key names one value of the materialised copy.
type Key struct {
	Kind KeyKind
	Name string
}

// KeyKind tells groups from topics.
type KeyKind uint8

// The kinds of [Key].
const (
	KindGroup KeyKind = 1
	KindTopic KeyKind = 2
)
