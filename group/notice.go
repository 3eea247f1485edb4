package group

// Notice tells what happened to a group, for logs and metrics; the machine itself never logs.
type Notice struct {
	Kind       NoticeKind
	Group      string
	Generation int32
	Member     string // "" when the notice is not about one member
	Reason     string
	Count      int // members of a generation, offsets expired; 0 when it has no meaning
}

// NoticeKind names what happened. It is the text of the log line and the label of the metric.
type NoticeKind string

// The kinds of [Notice].
const (
	GroupCreated        NoticeKind = "group created"
	RebalanceStarted    NoticeKind = "rebalance started"
	GenerationBegun     NoticeKind = "generation begun"
	AssignmentStored    NoticeKind = "assignment stored"
	GroupEmptied        NoticeKind = "group empty"
	GroupDeleted        NoticeKind = "group deleted"
	MemberJoined        NoticeKind = "member joined"
	MemberIDIssued      NoticeKind = "member id issued"
	MemberIDExpired     NoticeKind = "member id expired"
	MemberLeft          NoticeKind = "member left"
	MemberExpired       NoticeKind = "member expired"
	MemberFenced        NoticeKind = "member fenced"
	MemberReplaced      NoticeKind = "static member replaced"
	RequestRefused      NoticeKind = "request refused"
	CommitStale         NoticeKind = "commit stale at apply"
	OffsetsExpired      NoticeKind = "offsets expired"
	OffsetsDeleted      NoticeKind = "offsets deleted"
	TopicOffsetsDropped NoticeKind = "topic offsets dropped"
)
