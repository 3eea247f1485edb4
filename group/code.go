package group

// Code is a Kafka error code, as it goes on the wire.
type Code int16

// The codes that a group coordinator answers with.
const (
	UnknownServerError        Code = -1
	None                      Code = 0
	UnknownTopicOrPartition   Code = 3
	OffsetMetadataTooLarge    Code = 12
	CoordinatorLoadInProgress Code = 14
	CoordinatorNotAvailable   Code = 15
	NotCoordinator            Code = 16
	IllegalGeneration         Code = 22
	InconsistentGroupProtocol Code = 23
	InvalidGroupID            Code = 24
	UnknownMemberID           Code = 25
	InvalidSessionTimeout     Code = 26
	RebalanceInProgress       Code = 27
	GroupAuthorizationFailed  Code = 30
	UnsupportedVersion        Code = 35
	InvalidRequest            Code = 42
	NonEmptyGroup             Code = 68
	GroupIDNotFound           Code = 69
	MemberIDRequired          Code = 79
	GroupMaxSizeReached       Code = 81
	FencedInstanceID          Code = 82
	GroupSubscribedToTopic    Code = 86
	UnstableOffsetCommit      Code = 88
	UnknownTopicID            Code = 100
)
