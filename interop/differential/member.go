package differential

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Group is one group of a sequence, spoken to at the versions of one era.
type Group struct {
	s   *Script
	ID  string
	era era
	// began is a moment just before the last request that started timers: the last join phase's end or syncs.
	began time.Time
}

// A Member is one consumer: a connection and what it knows of its membership. Its defaults are long timeouts, so that
// nothing expires unless the sequence asks for it.
type Member struct {
	g    *Group
	conn *Conn

	ID        string
	Instance  *string
	Gen       int32
	Session   int32 // milliseconds
	Rebalance int32 // milliseconds
	Type      string
	Protos    []kmsg.JoinGroupRequestProtocol
	Reason    *string

	Leader  string
	Proto   *string
	Members []kmsg.JoinGroupResponseMember
}

// Member makes a dynamic member that offers the protocol "range" with bytes of its own.
func (g *Group) Member(name string) *Member {
	return &Member{
		g: g, conn: g.s.Conn(name), Gen: -1, Session: 30000, Rebalance: 60000, Type: "consumer",
		Protos: protos("range", "meta of "+name),
	}
}

// Static makes a member with a group instance id.
func (g *Group) Static(name, instance string) *Member {
	m := g.Member(name)
	m.Instance = &instance
	return m
}

// protos lists protocols; the arguments are name, metadata, name, metadata and so on.
func protos(pairs ...string) []kmsg.JoinGroupRequestProtocol {
	var out []kmsg.JoinGroupRequestProtocol
	for i := 0; i+1 < len(pairs); i += 2 {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = pairs[i], []byte(pairs[i+1])
		out = append(out, p)
	}
	return out
}

// JoinRequest is the JoinGroup that the member would send now.
func (m *Member) JoinRequest() *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version = m.g.era.of(keyJoinGroup)
	r.Group, r.MemberID, r.InstanceID = m.g.ID, m.ID, m.Instance
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = m.Session, m.Rebalance
	r.ProtocolType, r.Protocols, r.Reason = m.Type, m.Protos, m.Reason
	return r
}

// Join sends a JoinGroup.
func (m *Member) Join() *Call {
	c := m.conn.Send(m.JoinRequest())
	c.member = m
	return c
}

// Enter sends the JoinGroup that makes a new member part of the group: for a dynamic member from version 4 on it
// first fetches a member id, as KIP-394 wants.
func (m *Member) Enter() *Call {
	if m.ID == "" && m.Instance == nil && m.g.era.of(keyJoinGroup) >= 4 {
		m.FetchID()
	}
	return m.Join()
}

// FetchID joins without an id and expects MEMBER_ID_REQUIRED.
func (m *Member) FetchID() {
	resp := m.Join().Want(79).(*kmsg.JoinGroupResponse)
	m.ID = resp.MemberID
}

// Joined expects success and takes over id, generation, leader and members.
func (c *Call) Joined() *kmsg.JoinGroupResponse {
	resp := c.Want(0).(*kmsg.JoinGroupResponse)
	c.adopt(resp)
	return resp
}

func (c *Call) adopt(resp *kmsg.JoinGroupResponse) {
	if resp.ErrorCode != 0 {
		c.conn.script.stop("%s answered %d", c.label, resp.ErrorCode)
	}
	m := c.member
	m.ID, m.Gen, m.Leader, m.Members, m.Proto = resp.MemberID, resp.Generation, resp.LeaderID, resp.Members, resp.Protocol
}

// SyncRequest is a SyncGroup with assignments; the arguments are member, bytes, member, bytes and so on.
func (m *Member) SyncRequest(assign ...string) *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version = m.g.era.of(keySyncGroup)
	r.Group, r.MemberID, r.Generation, r.InstanceID = m.g.ID, m.ID, m.Gen, m.Instance
	r.ProtocolType, r.Protocol = &m.Type, m.Proto
	if m.Proto == nil && len(m.Protos) > 0 {
		r.Protocol = &m.Protos[0].Name
	}
	for i := 0; i+1 < len(assign); i += 2 {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = assign[i], []byte(assign[i+1])
		r.GroupAssignment = append(r.GroupAssignment, a)
	}
	if r.Version < 3 {
		r.InstanceID = nil
	}
	return r
}

// Sync sends a SyncGroup.
func (m *Member) Sync(assign ...string) *Call { return m.conn.Send(m.SyncRequest(assign...)) }

// HeartbeatRequest is the Heartbeat that the member would send now.
func (m *Member) HeartbeatRequest() *kmsg.HeartbeatRequest {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version = m.g.era.of(keyHeartbeat)
	r.Group, r.Generation, r.MemberID, r.InstanceID = m.g.ID, m.Gen, m.ID, m.Instance
	return r
}

// Heartbeat sends a Heartbeat.
func (m *Member) Heartbeat() *Call { return m.conn.Send(m.HeartbeatRequest()) }

// LeaveRequest is a LeaveGroup for members given as id, instance ("" for none), id, instance, …; below version 3 only
// the first id is sent.
func (g *Group) LeaveRequest(pairs ...string) *kmsg.LeaveGroupRequest {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version = g.era.of(keyLeaveGroup)
	r.Group = g.ID
	if len(pairs) > 0 {
		r.MemberID = pairs[0]
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = pairs[i]
		if pairs[i+1] != "" {
			m.InstanceID = &pairs[i+1]
		}
		r.Members = append(r.Members, m)
	}
	return r
}

// Leave sends a LeaveGroup for the member alone.
func (m *Member) Leave() *Call {
	instance := ""
	if m.Instance != nil {
		instance = *m.Instance
	}
	return m.conn.Send(m.g.LeaveRequest(m.ID, instance))
}

// Stable forms a group of the members, one after another, and leaves it Stable: member i is assigned "a<i>" and the
// first member leads. The generation is the number of members.
func (g *Group) Stable(members ...*Member) {
	for i, m := range members {
		g.Add(members[:i], m)
	}
}

// Add lets one more member into a Stable group (or an Empty one) and brings it to Stable again.
func (g *Group) Add(old []*Member, m *Member) {
	entering := m.Enter()
	all := append(append([]*Member{}, old...), m)
	if len(old) > 0 {
		g.Await("PreparingRebalance", len(all))
	}
	var calls []*Call
	for _, o := range old {
		calls = append(calls, o.Join())
	}
	for _, c := range calls {
		c.Joined()
	}
	entering.Joined()
	g.SyncAll(all...)
}

// SyncAll lets the members sync, the first one with everybody's assignment; it must be the leader.
func (g *Group) SyncAll(members ...*Member) {
	var assign []string
	for i, m := range members {
		assign = append(assign, m.ID, fmt.Sprintf("a%d", i))
	}
	g.began = time.Now()
	leader := members[0].Sync(assign...)
	var calls []*Call
	for _, m := range members[1:] {
		calls = append(calls, m.Sync())
	}
	leader.Want(0)
	for _, c := range calls {
		c.Want(0)
	}
}

// Describe records the group's description.
func (g *Group) Describe(c *Conn) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Version = g.era.of(keyDescribeGroups)
	r.Groups = []string{g.ID}
	return c.Do(r).(*kmsg.DescribeGroupsResponse).Groups[0]
}

// List records the sequence's groups as ListGroups shows them.
func (g *Group) List(c *Conn) []kmsg.ListGroupsResponseGroup {
	r := kmsg.NewPtrListGroupsRequest()
	r.Version = g.era.of(keyListGroups)
	return c.Do(r).(*kmsg.ListGroupsResponse).Groups
}

func asJoin(resp kmsg.Response) *kmsg.JoinGroupResponse { return resp.(*kmsg.JoinGroupResponse) }
