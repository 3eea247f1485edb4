package httpapi

// Cluster is the answer of GET /v1/cluster.
type Cluster struct {
	NodeID   uint64 `json:"node_id"`
	LeaderID uint64 `json:"leader_id"` // 0: none known
	Term     uint64 `json:"term"`
	Nodes    []Node `json:"nodes"`
}

// Kafka is the answer of GET /v1/kafka: what the node knows of the cluster behind it.
type Kafka struct {
	ClusterID string  `json:"cluster_id"` // "": not known yet
	Reachable bool    `json:"reachable"`  // whether the latest look at it was answered
	Brokers   []int32 `json:"brokers"`    // ids of those that clients are told, ascending
	Error     string  `json:"error,omitempty"`
}

// Node is one daemon of the cluster.
type Node struct {
	ID        uint64 `json:"id"`
	Raft      string `json:"raft"`      // host:port
	Bootstrap string `json:"bootstrap"` // host:port
	Voter     bool   `json:"voter"`
}

// Groups is the answer of GET /v1/groups, by name.
type Groups struct {
	Groups []GroupSummary `json:"groups"`
}

// GroupSummary is one group of the list.
type GroupSummary struct {
	Group        string `json:"group"`
	State        string `json:"state"` // Kafka's word: Empty, PreparingRebalance, CompletingRebalance, Stable
	Type         string `json:"type"`  // Kafka's word: classic
	ProtocolType string `json:"protocol_type"`
}

// Group is the answer of GET /v1/groups/{group}.
type Group struct {
	Group        string   `json:"group"`
	State        string   `json:"state"`
	ProtocolType string   `json:"protocol_type"`
	Protocol     string   `json:"protocol"` // the assignor that the members agreed on
	Generation   int32    `json:"generation"`
	Leader       string   `json:"leader"`  // a member id
	Members      []Member `json:"members"` // in the order in which they joined
	Offsets      []Offset `json:"offsets"` // by topic and partition
	// Lag is the sum over the partitions whose log end is known; LagPartial says that some are not.
	Lag        int64 `json:"lag"`
	LagPartial bool  `json:"lag_partial"`
}

// Member is one member of a group.
type Member struct {
	MemberID   string           `json:"member_id"`
	InstanceID string           `json:"instance_id,omitempty"`
	ClientID   string           `json:"client_id"`
	Host       string           `json:"host"`       // "/127.0.0.1", as Kafka writes it
	Assignment []TopicPartition `json:"assignment"` // empty where it is not a consumer's
}

// TopicPartition is the partitions of one topic that a member was assigned.
type TopicPartition struct {
	Topic      string  `json:"topic"`
	Partitions []int32 `json:"partitions"`
}

// Offset is one committed offset.
type Offset struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"`
	LeaderEpoch int32  `json:"leader_epoch"` // -1: none
	Metadata    string `json:"metadata,omitempty"`
	LogEnd      *int64 `json:"log_end,omitempty"` // absent: not known
	Lag         *int64 `json:"lag,omitempty"`
}

// Readiness is the answer of GET /readyz.
type Readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"` // why not; empty when ready
}

// Problem is the answer to a request that failed.
type Problem struct {
	Error string `json:"error"`
}
