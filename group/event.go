package group

import "time"

// ReqID names a request that waits for its answer. The caller chooses it, never reuses it and never uses zero.
type ReqID uint64

// TopicID is Kafka's topic id (KIP-516); the zero value means unknown.
type TopicID [16]byte

// Client says who sent a request. Host has Kafka's form, a slash and the address without a port: "/127.0.0.1".
type Client struct {
	ID   string
	Host string
}

// Event is an input of [Machine.Step].
type Event interface{ event() }

// Protocol is one entry of a member's protocol list (an assignor's name and the member's subscription), in its order.
type Protocol struct {
	Name     string
	Metadata []byte
}

// Join is a JoinGroup request (key 11).
type Join struct {
	Req              ReqID
	Version          int16
	Group            string
	MemberID         string
	InstanceID       *string // nil: dynamic member (KIP-345)
	Client           Client
	SessionTimeout   time.Duration
	RebalanceTimeout time.Duration // v0 requests carry none: the session timeout is given here
	ProtocolType     string
	Protocols        []Protocol
	Reason           string // KIP-800, may be empty
	FreshID          string // a new UUID, from which a member id is made if one is needed
}

// Assignment is what the leader of a generation gives to one member.
type Assignment struct {
	MemberID string
	Bytes    []byte
}

// Sync is a SyncGroup request (key 14).
type Sync struct {
	Req          ReqID
	Version      int16
	Group        string
	MemberID     string
	InstanceID   *string
	Generation   int32
	ProtocolType *string // v5+
	ProtocolName *string // v5+
	Assignments  []Assignment
}

// Heartbeat is a Heartbeat request (key 12).
type Heartbeat struct {
	Req        ReqID
	Group      string
	MemberID   string
	InstanceID *string
	Generation int32
}

// LeaveMember is one entry of a LeaveGroup request.
type LeaveMember struct {
	MemberID   string
	InstanceID *string
	Reason     string
}

// Leave is a LeaveGroup request (key 13); before v3 it has exactly one entry.
type Leave struct {
	Req     ReqID
	Version int16
	Group   string
	Members []LeaveMember
}

// OffsetPartition is one partition of a commit. Offset and epoch are stored as they are.
type OffsetPartition struct {
	Partition   int32
	LeaderEpoch int32 // -1: absent
	Offset      int64
	Metadata    string // a null is given as ""
}

// OffsetTopic is one topic of a commit. The topic and its partitions exist: the caller has asked.
type OffsetTopic struct {
	Name       string
	ID         TopicID // zero when Kafka has not told an id
	Partitions []OffsetPartition
}

// Commit is an OffsetCommit request (key 8), v2 and later, reduced to the partitions that exist. It has at least one.
type Commit struct {
	Req        ReqID
	Version    int16
	Group      string
	MemberID   string
	InstanceID *string
	Generation int32         // -1: none given
	Retention  time.Duration // v2-4 RetentionTimeMs; negative: none
	Topics     []OffsetTopic
}

// PartitionSet names partitions of a topic.
type PartitionSet struct {
	Topic      string
	Partitions []int32
}

// FetchGroup is one group of an OffsetFetch request.
type FetchGroup struct {
	Group       string
	MemberID    *string // v9+, ignored by classic groups
	MemberEpoch int32   // v9+, -1: none
	All         bool    // the request's topics are null: all partitions that have an offset
	Topics      []PartitionSet
	// IDs are those that Kafka gives for the topics at present, parallel to Topics; zero: it has not told. Nil: as the image says.
	IDs []TopicID
}

// Fetch is an OffsetFetch request (key 9).
type Fetch struct {
	Req           ReqID
	RequireStable bool
	Groups        []FetchGroup
}

// DeleteOffsets is an OffsetDelete request (key 47) reduced to partitions that exist; it may have none.
type DeleteOffsets struct {
	Req    ReqID
	Group  string
	Topics []PartitionSet
}

// Describe is a DescribeGroups request (key 15).
type Describe struct {
	Req     ReqID
	Version int16
	Groups  []string
}

// List is a ListGroups request (key 16). Empty filters match everything.
type List struct {
	Req    ReqID
	States []string
	Types  []string
}

// DeleteGroups is a DeleteGroups request (key 42).
type DeleteGroups struct {
	Req    ReqID
	Groups []string
}

// TopicSeen tells the id and the partition count that Kafka gives for a topic that groups use.
type TopicSeen struct {
	Name       string
	ID         TopicID
	Partitions int32
}

// TopicGone tells that the topic with this id no longer exists: its offsets are dropped in all groups. The caller has
// made sure (docs/operations.md): this cannot be taken back.
type TopicGone struct {
	Name string
	ID   TopicID
}

// Tick lets deadlines that have passed take effect.
type Tick struct{}

// Committed tells the outcome of a proposal, after Apply has returned it.
type Committed struct {
	Token   Token
	Outcome Outcome
}

// ProposalFailed tells that a proposal was not, or may not have been, committed. Err is the code for the client:
// CoordinatorNotAvailable when it was never sent or timed out, NotCoordinator when leadership was lost.
type ProposalFailed struct {
	Token Token
	Err   Code
}

func (Join) event()           {}
func (Sync) event()           {}
func (Heartbeat) event()      {}
func (Leave) event()          {}
func (*Commit) event()        {}
func (Fetch) event()          {}
func (DeleteOffsets) event()  {}
func (Describe) event()       {}
func (List) event()           {}
func (DeleteGroups) event()   {}
func (TopicSeen) event()      {}
func (TopicGone) event()      {}
func (Tick) event()           {}
func (Committed) event()      {}
func (ProposalFailed) event() {}
