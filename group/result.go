package group

// Reply answers one request.
type Reply struct {
	Req    ReqID
	Result Result
}

// Result is the answer to a request, before it is put into the layout of a version.
type Result interface{ result() }

// JoinMember is a member as the leader sees it.
type JoinMember struct {
	MemberID   string
	InstanceID *string
	Metadata   []byte
}

// JoinResult answers [Join].
type JoinResult struct {
	Code           Code
	Generation     int32   // -1 on error
	ProtocolType   *string // nil on error
	ProtocolName   *string // nil on error; the codec writes "" before v7
	Leader         string
	SkipAssignment bool // KIP-814
	MemberID       string
	Members        []JoinMember // for the leader only
}

// SyncResult answers [Sync].
type SyncResult struct {
	Code         Code
	ProtocolType *string
	ProtocolName *string
	Assignment   []byte
}

// HeartbeatResult answers [Heartbeat].
type HeartbeatResult struct{ Code Code }

// LeaveMemberResult is the answer for one entry of a [Leave], in the request's order.
type LeaveMemberResult struct {
	MemberID   string
	InstanceID *string
	Code       Code
}

// LeaveResult answers [Leave]; before v3 the codec moves the single member's code to the top.
type LeaveResult struct {
	Code    Code
	Members []LeaveMemberResult
}

// CommitResult answers [Commit]. Code applies to every partition of the event, unless it is None and Partitions is not
// nil: then Partitions holds a code for each partition, in the event's order, topics one after another. Answers that are
// alike share one value: it must not be changed.
type CommitResult struct {
	Code       Code
	Partitions []Code
}

// FetchedPartition is a committed offset; offset -1 means none.
type FetchedPartition struct {
	Partition   int32
	LeaderEpoch int32
	Offset      int64
	Metadata    string
	Code        Code
}

// FetchedTopic is one topic of an answer to [Fetch].
type FetchedTopic struct {
	Topic      string
	ID         TopicID
	Partitions []FetchedPartition
}

// FetchedGroup is the answer for one group, in the request's order. On an error Topics is empty.
type FetchedGroup struct {
	Group  string
	Code   Code
	Topics []FetchedTopic
}

// FetchResult answers [Fetch].
type FetchResult struct{ Groups []FetchedGroup }

// DeleteOffsetsResult answers [DeleteOffsets]: Code is for the whole, Partitions as in [CommitResult].
type DeleteOffsetsResult struct {
	Code       Code
	Partitions []Code
}

// DescribedMember is a member as an operator sees it.
type DescribedMember struct {
	MemberID   string
	InstanceID *string
	Client     Client
	Metadata   []byte
	Assignment []byte
}

// DescribedGroup is one group of an answer to [Describe].
type DescribedGroup struct {
	Group        string
	Code         Code
	Message      string // v6+
	State        string
	ProtocolType string
	Protocol     string
	Generation   int32  // not on the wire; for the operator's view
	Leader       string // likewise
	Members      []DescribedMember
}

// DescribeResult answers [Describe], in the request's order.
type DescribeResult struct{ Groups []DescribedGroup }

// ListedGroup is one group of an answer to [List].
type ListedGroup struct {
	Group        string
	ProtocolType string
	State        string
	Type         string
}

// ListResult answers [List], sorted by name. On an error Groups is empty.
type ListResult struct {
	Code   Code
	Groups []ListedGroup
}

// DeletedGroup is the answer for one group of [DeleteGroups].
type DeletedGroup struct {
	Group string
	Code  Code
}

// DeleteGroupsResult answers [DeleteGroups]: each name once, in the order of first mention.
type DeleteGroupsResult struct{ Groups []DeletedGroup }

func (JoinResult) result()          {}
func (SyncResult) result()          {}
func (HeartbeatResult) result()     {}
func (LeaveResult) result()         {}
func (*CommitResult) result()       {}
func (FetchResult) result()         {}
func (DeleteOffsetsResult) result() {}
func (DescribeResult) result()      {}
func (ListResult) result()          {}
func (DeleteGroupsResult) result()  {}
