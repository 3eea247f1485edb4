package load

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SessionTimeout and RebalanceTimeout are those of every [Member].
const (
	SessionTimeout   = 30 * time.Minute
	RebalanceTimeout = 5 * time.Minute
)

// Member is a member of a classic group, driven step by step.
type Member struct {
	Group      string
	ID         string
	Generation int32
	Leader     bool
	Round      int32 // goes into the subscription: another one makes a rebalance
	members    []kmsg.JoinGroupResponseMember
}

// JoinRequest returns the member's next JoinGroup (v5).
func (m *Member) JoinRequest() *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.SetVersion(5)
	req.Group, req.MemberID = m.Group, m.ID
	req.SessionTimeoutMillis = int32(SessionTimeout.Milliseconds())
	req.RebalanceTimeoutMillis = int32(RebalanceTimeout.Milliseconds())
	req.ProtocolType = "consumer"
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = "range"
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = []string{"load"}
	meta.UserData = binary.BigEndian.AppendUint32(nil, uint32(m.Round))
	p.Metadata = meta.AppendTo(nil)
	req.Protocols = append(req.Protocols, p)
	return req
}

// Joined takes the answer to JoinRequest; again tells that the member was only given its id and has to ask once more.
func (m *Member) Joined(resp kmsg.Response) (again bool, err error) {
	r := resp.(*kmsg.JoinGroupResponse)
	m.ID = r.MemberID
	if r.ErrorCode == kerr.MemberIDRequired.Code {
		return true, nil
	}
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return false, fmt.Errorf("join of group %s: %w", m.Group, err)
	}
	m.Generation, m.Leader, m.members = r.Generation, r.LeaderID == r.MemberID, r.Members
	return false, nil
}

// SyncRequest returns the member's SyncGroup (v3); the leader gives everyone one byte.
func (m *Member) SyncRequest() *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.SetVersion(3)
	req.Group, req.MemberID, req.Generation = m.Group, m.ID, m.Generation
	if m.Leader {
		for _, jm := range m.members {
			a := kmsg.NewSyncGroupRequestGroupAssignment()
			a.MemberID, a.MemberAssignment = jm.MemberID, []byte{1}
			req.GroupAssignment = append(req.GroupAssignment, a)
		}
	}
	return req
}

// Synced takes the answer to SyncRequest.
func (m *Member) Synced(resp kmsg.Response) error {
	r := resp.(*kmsg.SyncGroupResponse)
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return fmt.Errorf("sync of group %s: %w", m.Group, err)
	}
	if len(r.MemberAssignment) != 1 {
		return fmt.Errorf("sync of group %s: an assignment of %d bytes", m.Group, len(r.MemberAssignment))
	}
	return nil
}

// JoinAlone makes the member the only one of its group.
func (m *Member) JoinAlone(c *Conn) error {
	for again := true; again; {
		req := m.JoinRequest()
		resp, err := c.Request(req)
		if err != nil {
			return err
		}
		if again, err = m.Joined(resp); err != nil {
			return err
		}
	}
	resp, err := c.Request(m.SyncRequest())
	if err != nil {
		return err
	}
	return m.Synced(resp)
}

// HeartbeatRequest returns the member's Heartbeat (v3).
func (m *Member) HeartbeatRequest() *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.SetVersion(3)
	req.Group, req.MemberID, req.Generation = m.Group, m.ID, m.Generation
	return req
}

// CheckHeartbeat returns the error in an answer to a Heartbeat.
func CheckHeartbeat(resp kmsg.Response) error {
	return kerr.ErrorForCode(resp.(*kmsg.HeartbeatResponse).ErrorCode)
}
