package protocol

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

// Request is one client's request on its way through the machine: an event on the way in, a response on the way back.
// It is used by one goroutine at a time.
type Request interface {
	// Event returns the event under the given id, or nil when the machine is not needed; then Answer(nil) is the response.
	Event(id group.ReqID) group.Event
	// Answer returns the response for the machine's result, in the version of the request. It is called at most once.
	Answer(res group.Result) kmsg.Response
	// Fail returns the response that says code of the whole request, in the shape that its version has for it. It is called
	// instead of Answer.
	Fail(code group.Code) kmsg.Response
}

// New translates a decoded request of one of the coordinator's own keys, whose version has been checked. freshID makes a
// new UUID, from which a member id is made if one is needed. The strings of OffsetCommit and Heartbeat alias msg, so msg
// has to live until they are answered; all others are copied. An error means that there is no answer: the connection has
// to be closed.
func New(msg kmsg.Request, client group.Client, freshID func() string) (Request, error) {
	if err := checkNumbers(msg); err != nil {
		return nil, err
	}
	switch m := msg.(type) {
	case *kmsg.OffsetCommitRequest:
		return newOffsetCommit(m), nil
	case *kmsg.HeartbeatRequest:
		return newHeartbeat(m), nil
	case *kmsg.OffsetFetchRequest:
		return newOffsetFetch(m), nil
	case *kmsg.JoinGroupRequest:
		return newJoinGroup(m, client, freshID()), nil
	case *kmsg.SyncGroupRequest:
		return newSyncGroup(m), nil
	case *kmsg.LeaveGroupRequest:
		return newLeaveGroup(m), nil
	case *kmsg.DescribeGroupsRequest:
		return newDescribeGroups(m), nil
	case *kmsg.ListGroupsRequest:
		return newListGroups(m), nil
	case *kmsg.DeleteGroupsRequest:
		return newDeleteGroups(m), nil
	case *kmsg.OffsetDeleteRequest:
		return newOffsetDelete(m), nil
	}
	return nil, fmt.Errorf("protocol: %s (key %d) is not answered by the coordinator", kmsg.NameForKey(msg.Key()), msg.Key())
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// clone copies a nullable string away from the request's buffer.
func clone(s *string) *string {
	if s == nil {
		return nil
	}
	c := strings.Clone(*s)
	return &c
}

func cloneAll(in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = strings.Clone(s)
	}
	return out
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
