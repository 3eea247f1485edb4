package group

import "strconv"

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

// String returns Kafka's name of the code.
func (c Code) String() string {
	switch c {
	case UnknownServerError:
		return "UNKNOWN_SERVER_ERROR"
	case None:
		return "NONE"
	case UnknownTopicOrPartition:
		return "UNKNOWN_TOPIC_OR_PARTITION"
	case OffsetMetadataTooLarge:
		return "OFFSET_METADATA_TOO_LARGE"
	case CoordinatorLoadInProgress:
		return "COORDINATOR_LOAD_IN_PROGRESS"
	case CoordinatorNotAvailable:
		return "COORDINATOR_NOT_AVAILABLE"
	case NotCoordinator:
		return "NOT_COORDINATOR"
	case IllegalGeneration:
		return "ILLEGAL_GENERATION"
	case InconsistentGroupProtocol:
		return "INCONSISTENT_GROUP_PROTOCOL"
	case InvalidGroupID:
		return "INVALID_GROUP_ID"
	case UnknownMemberID:
		return "UNKNOWN_MEMBER_ID"
	case InvalidSessionTimeout:
		return "INVALID_SESSION_TIMEOUT"
	case RebalanceInProgress:
		return "REBALANCE_IN_PROGRESS"
	case GroupAuthorizationFailed:
		return "GROUP_AUTHORIZATION_FAILED"
	case UnsupportedVersion:
		return "UNSUPPORTED_VERSION"
	case InvalidRequest:
		return "INVALID_REQUEST"
	case NonEmptyGroup:
		return "NON_EMPTY_GROUP"
	case GroupIDNotFound:
		return "GROUP_ID_NOT_FOUND"
	case MemberIDRequired:
		return "MEMBER_ID_REQUIRED"
	case GroupMaxSizeReached:
		return "GROUP_MAX_SIZE_REACHED"
	case FencedInstanceID:
		return "FENCED_INSTANCE_ID"
	case GroupSubscribedToTopic:
		return "GROUP_SUBSCRIBED_TO_TOPIC"
	case UnstableOffsetCommit:
		return "UNSTABLE_OFFSET_COMMIT"
	case UnknownTopicID:
		return "UNKNOWN_TOPIC_ID"
	default:
		return "code " + strconv.Itoa(int(c))
	}
}
