package group

// Token names a proposal of the machine until its outcome is told with [Committed] or [ProposalFailed].
type Token uint64

// Proposal asks for a record to be replicated. Proposals reach the log in the order in which they were returned.
type Proposal struct {
	Token  Token
	Record Record
}

// Record is what replicas agree on. Apply reads nothing but the record and the image, so every setting and time that
// matters travels inside. The byte form is the business of package protocol; times are Unix milliseconds.
type Record interface{ record() }

// Guard says what a record was decided on. Apply compares it with the image and refuses the record when the image has
// moved on.
type Guard struct {
	Generation int32
	MemberID   string  // "" together with a nil InstanceID: not checked
	InstanceID *string // nil: not checked
	Simple     bool    // a commit without a generation: only to a group that has no members; it creates a missing group
}

// OffsetCommit stores offsets of one group.
type OffsetCommit struct {
	Group      string
	Guard      Guard
	CommitTime int64
	ExpireTime int64 // -1: by the retention of the group (v2-4 requests may give a time)
	Topics     []OffsetTopic
}

// OffsetDelete removes offsets of one group. Expired ones are removed by it too; then DropEmpty removes the group as
// well if it has no member and no offset left.
type OffsetDelete struct {
	Group     string
	Topics    []PartitionSet
	Expired   bool  // remove only offsets whose commit time is at most Before
	Before    int64 // used when Expired is set
	DropEmpty bool
}

// MemberImage is the durable part of a member.
type MemberImage struct {
	MemberID         string
	InstanceID       *string
	Client           Client
	SessionTimeout   int32 // milliseconds
	RebalanceTimeout int32 // milliseconds
	Protocols        []Protocol
	Assignment       []byte
}

// Phase is the durable part of a group's state.
type Phase uint8

// The durable phases. A group that prepares a rebalance is durably in the phase it was in before.
const (
	PhaseEmpty      Phase = iota // no members
	PhaseCompleting              // a generation has begun, its assignment is not known
	PhaseStable                  // the generation's assignment is known
)

// GroupMeta replaces all of a group but its offsets. It is written when a group is created, when a generation begins,
// when its assignment arrives, when a static member is replaced, and when the last member is gone.
type GroupMeta struct { //nolint:revive // beside OffsetCommit and TopicDrop the name has to say of what
	Group        string
	Sequence     uint64 // one more than the image's; otherwise the record is stale
	Phase        Phase
	Generation   int32
	ProtocolType string
	Protocol     string // "" in PhaseEmpty
	Leader       string // "" in PhaseEmpty
	StateTime    int64  // when the phase began; the base of offset expiry for an empty group
	Members      []MemberImage
}

// GroupDelete removes a group and its offsets if it has no members.
type GroupDelete struct{ Group string } //nolint:revive // beside OffsetCommit and TopicDrop the name has to say of what

// TopicUpsert remembers the id and the size of a topic that groups use.
type TopicUpsert struct {
	Name       string
	ID         TopicID
	Partitions int32
}

// TopicDrop removes the offsets of a topic from all groups, by id, and forgets the topic.
type TopicDrop struct {
	Name string
	ID   TopicID
}

// StoredOffset is one partition of a [GroupImage].
type StoredOffset struct {
	OffsetPartition
	CommitTime int64
	ExpireTime int64
}

// StoredTopic is one topic of a [GroupImage].
type StoredTopic struct {
	Name       string
	ID         TopicID
	Partitions []StoredOffset
}

// GroupImage is a whole group as the materialised copy and snapshots hold it: applied to an image without the group, it
// restores it. It never occurs in the log.
type GroupImage struct { //nolint:revive // beside OffsetCommit and TopicDrop the name has to say of what
	Meta   GroupMeta // Sequence is the image's own
	Topics []StoredTopic
}

// Outcome is what Apply says of a record. For a record with partitions, Partitions is nil when all have the code Code.
type Outcome struct {
	Code       Code
	Stale      bool // refused by its guard or sequence: the image was not changed
	Partitions []Code
	Removed    int // offsets that the record removed
}

func (*OffsetCommit) record() {}
func (*OffsetDelete) record() {}
func (*GroupMeta) record()    {}
func (*GroupDelete) record()  {}
func (*TopicUpsert) record()  {}
func (*TopicDrop) record()    {}
func (*GroupImage) record()   {}
