package group

// state is the state of a group as the leader sees it (KIP-62, Kafka's ClassicGroupState).
//
//	        first join                all joined, committed
//	Empty ─────────────▶ Preparing ─────────────────────────▶ Completing
//	  ▲                   │  ▲  ▲                               │    │ leader's sync, committed
//	  └───────────────────┘  │  └───────────────────────────────┘    ▼
//	   nobody joined         └────────────────────────────────── Stable
//
// Kafka's Dead is not a state here: a group that is gone is not found.
type state uint8

const (
	stateEmpty state = iota
	statePreparing
	stateCompleting
	stateStable
)

const stateCount = int(stateStable) + 1

// stateDead is what DescribeGroups says of a group that is missing.
const stateDead = "Dead"

// String returns the name that the state has on the wire.
func (s state) String() string {
	switch s {
	case stateEmpty:
		return "Empty"
	case statePreparing:
		return "PreparingRebalance"
	case stateCompleting:
		return "CompletingRebalance"
	case stateStable:
		return "Stable"
	default:
		return "Unknown"
	}
}

// mayFollow tells whether a group may go from the state before to s.
func (s state) mayFollow(before state) bool {
	switch s {
	case stateEmpty, stateCompleting:
		return before == statePreparing
	case statePreparing:
		return before == stateEmpty || before == stateCompleting || before == stateStable
	case stateStable:
		return before == stateCompleting
	default:
		return false
	}
}

// stateOf is the state in which a group of this durable phase begins a leadership.
func stateOf(p Phase) state {
	switch p {
	case PhaseCompleting:
		return stateCompleting
	case PhaseStable:
		return stateStable
	case PhaseEmpty:
		return stateEmpty
	default:
		return stateEmpty
	}
}
