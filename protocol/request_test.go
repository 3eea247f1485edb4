package protocol

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

const reqID = 42

var (
	orders  = Topic{Name: "orders", ID: group.TopicID{1}, Partitions: 6}
	audit   = Topic{Name: "audit", ID: group.TopicID{2}, Partitions: 1}
	absent  = group.TopicID{9}
	client  = group.Client{ID: "c", Host: "/10.0.0.1"}
	freshID = func() string { return "fresh" }
)

type topics []Topic

func (ts topics) ByName(name string) (Topic, bool) {
	for _, t := range ts {
		if t.Name == name {
			return t, true
		}
	}
	return Topic{}, false
}

func (ts topics) ByID(id group.TopicID) (Topic, bool) {
	for _, t := range ts {
		if t.ID == id {
			return t, true
		}
	}
	return Topic{}, false
}

// overWire sends a request through its byte form, as a client and the listener do.
func overWire(t *testing.T, in kmsg.Request, version int16) kmsg.Request {
	t.Helper()
	in.SetVersion(version)
	out := kmsg.RequestForKey(in.Key())
	out.SetVersion(version)
	require.NoError(t, out.ReadFrom(in.AppendTo(nil)))
	return out
}

// translate turns a request into a [Request] with its topics resolved.
func translate(t *testing.T, in kmsg.Request, version int16) Request {
	t.Helper()
	req, err := New(overWire(t, in, version), client, freshID)
	require.NoError(t, err)
	if tr, ok := req.(TopicRequest); ok {
		tr.Resolve(topics{orders, audit}, group.None)
	}
	return req
}

// answered sends a response through its byte form.
func answered[R kmsg.Response](t *testing.T, resp kmsg.Response) R {
	t.Helper()
	out := resp.RequestKind().ResponseKind()
	out.SetVersion(resp.GetVersion())
	require.NoError(t, out.ReadFrom(resp.AppendTo(nil)))
	return out.(R)
}

func eachVersion(t *testing.T, first, last int16, f func(t *testing.T, v int16)) {
	t.Helper()
	for v := first; v <= last; v++ {
		t.Run(fmt.Sprintf("v%d", v), func(t *testing.T) { f(t, v) })
	}
}

// from gives the value from a version on, and nothing before.
func from[T any](v, first int16, val T) (out T) {
	if v >= first {
		return val
	}
	return out
}

func TestHeartbeat(t *testing.T) {
	eachVersion(t, 0, 4, func(t *testing.T, v int16) {
		in := &kmsg.HeartbeatRequest{Group: "g", Generation: 7, MemberID: "m", InstanceID: new("i")}
		req := translate(t, in, v)
		require.Equal(t, group.Heartbeat{Req: reqID, Group: "g", MemberID: "m", InstanceID: from(v, 3, new("i")), Generation: 7}, req.Event(reqID))
		resp := answered[*kmsg.HeartbeatResponse](t, req.Answer(group.HeartbeatResult{Code: group.RebalanceInProgress}))
		require.EqualValues(t, 27, resp.ErrorCode)
		require.EqualValues(t, 15, answered[*kmsg.HeartbeatResponse](t, translate(t, in, v).Fail(group.CoordinatorNotAvailable)).ErrorCode)
	})
}

func TestJoinGroup(t *testing.T) {
	in := &kmsg.JoinGroupRequest{
		Group: "g", SessionTimeoutMillis: 45000, RebalanceTimeoutMillis: 60000, MemberID: "m", InstanceID: new("i"),
		ProtocolType: "consumer", Reason: new("why"),
		Protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{1}}, {Name: "sticky", Metadata: []byte{}}},
	}
	eachVersion(t, 0, 9, func(t *testing.T, v int16) {
		req := translate(t, in, v)
		rebalance := 60 * time.Second
		if v == 0 {
			rebalance = 45 * time.Second
		}
		require.Equal(t, group.Join{
			Req: reqID, Version: v, Group: "g", MemberID: "m", InstanceID: from(v, 5, new("i")), Client: client,
			SessionTimeout: 45 * time.Second, RebalanceTimeout: rebalance, ProtocolType: "consumer",
			Protocols: []group.Protocol{{Name: "range", Metadata: []byte{1}}, {Name: "sticky", Metadata: []byte{}}},
			Reason:    from(v, 8, "why"), FreshID: "fresh",
		}, req.Event(reqID))

		resp := answered[*kmsg.JoinGroupResponse](t, req.Answer(group.JoinResult{
			Generation: 3, ProtocolType: new("consumer"), ProtocolName: new("range"), Leader: "m", SkipAssignment: true, MemberID: "m",
			Members: []group.JoinMember{{MemberID: "m", InstanceID: new("i"), Metadata: []byte{1}}},
		}))
		require.EqualValues(t, 3, resp.Generation)
		require.Equal(t, from(v, 7, new("consumer")), resp.ProtocolType)
		require.Equal(t, new("range"), resp.Protocol)
		require.Equal(t, v >= 9, resp.SkipAssignment)
		require.Equal(t, "m", resp.LeaderID)
		require.Equal(t, "m", resp.MemberID)
		require.Len(t, resp.Members, 1)
		require.Equal(t, from(v, 5, new("i")), resp.Members[0].InstanceID)
		require.Equal(t, []byte{1}, resp.Members[0].ProtocolMetadata)

		for _, failed := range []kmsg.Response{
			translate(t, in, v).Fail(group.NotCoordinator),
			translate(t, in, v).Answer(group.JoinResult{Code: group.NotCoordinator, Generation: -1, MemberID: "m", ProtocolName: new("")}),
		} {
			resp = answered[*kmsg.JoinGroupResponse](t, failed)
			require.EqualValues(t, 16, resp.ErrorCode)
			require.EqualValues(t, -1, resp.Generation)
			require.Equal(t, "m", resp.MemberID)
			require.Empty(t, resp.LeaderID)
			require.Nil(t, resp.ProtocolType)
			if v >= 7 {
				require.Nil(t, resp.Protocol)
			} else {
				require.Equal(t, new(""), resp.Protocol)
			}
		}
	})
}

func TestSyncGroup(t *testing.T) {
	in := &kmsg.SyncGroupRequest{
		Group: "g", Generation: 7, MemberID: "m", InstanceID: new("i"), ProtocolType: new("consumer"), Protocol: new("range"),
		GroupAssignment: []kmsg.SyncGroupRequestGroupAssignment{{MemberID: "m", MemberAssignment: []byte{5}}},
	}
	eachVersion(t, 0, 5, func(t *testing.T, v int16) {
		req := translate(t, in, v)
		require.Equal(t, group.Sync{
			Req: reqID, Version: v, Group: "g", MemberID: "m", InstanceID: from(v, 3, new("i")), Generation: 7,
			ProtocolType: from(v, 5, new("consumer")), ProtocolName: from(v, 5, new("range")),
			Assignments: []group.Assignment{{MemberID: "m", Bytes: []byte{5}}},
		}, req.Event(reqID))
		resp := answered[*kmsg.SyncGroupResponse](t, req.Answer(group.SyncResult{
			ProtocolType: new("consumer"), ProtocolName: new("range"), Assignment: []byte{5},
		}))
		require.Equal(t, from(v, 5, new("consumer")), resp.ProtocolType)
		require.Equal(t, from(v, 5, new("range")), resp.Protocol)
		require.Equal(t, []byte{5}, resp.MemberAssignment)
		resp = answered[*kmsg.SyncGroupResponse](t, translate(t, in, v).Fail(group.RebalanceInProgress))
		require.EqualValues(t, 27, resp.ErrorCode)
		require.Nil(t, resp.Protocol)
		require.Empty(t, resp.MemberAssignment)
	})
}

func TestLeaveGroup(t *testing.T) {
	in := &kmsg.LeaveGroupRequest{Group: "g", MemberID: "m", Members: []kmsg.LeaveGroupRequestMember{
		{MemberID: "m", Reason: new("why")}, {InstanceID: new("i")},
	}}
	eachVersion(t, 0, 5, func(t *testing.T, v int16) {
		want := []group.LeaveMember{{MemberID: "m", Reason: from(v, 5, "why")}, {InstanceID: new("i")}}
		if v < 3 {
			want = []group.LeaveMember{{MemberID: "m"}}
		}
		req := translate(t, in, v)
		require.Equal(t, group.Leave{Req: reqID, Version: v, Group: "g", Members: want}, req.Event(reqID))

		res := group.LeaveResult{Members: []group.LeaveMemberResult{{MemberID: "m", Code: group.UnknownMemberID}, {InstanceID: new("i")}}}
		if v < 3 {
			res.Members = res.Members[:1]
		}
		resp := answered[*kmsg.LeaveGroupResponse](t, req.Answer(res))
		if v < 3 {
			require.EqualValues(t, 25, resp.ErrorCode)
			require.Empty(t, resp.Members)
		} else {
			require.Zero(t, resp.ErrorCode)
			require.Equal(t, []kmsg.LeaveGroupResponseMember{{MemberID: "m", ErrorCode: 25}, {InstanceID: new("i")}}, resp.Members)
		}
		resp = answered[*kmsg.LeaveGroupResponse](t, translate(t, in, v).Fail(group.CoordinatorNotAvailable))
		require.EqualValues(t, 15, resp.ErrorCode)
		require.Empty(t, resp.Members)
	})
}

func TestDescribeGroups(t *testing.T) {
	for _, ops := range []bool{false, true} {
		in := &kmsg.DescribeGroupsRequest{Groups: []string{"g", "h"}, IncludeAuthorizedOperations: ops}
		eachVersion(t, 0, 6, func(t *testing.T, v int16) {
			req := translate(t, in, v)
			require.Equal(t, group.Describe{Req: reqID, Version: v, Groups: []string{"g", "h"}}, req.Event(reqID))
			resp := answered[*kmsg.DescribeGroupsResponse](t, req.Answer(group.DescribeResult{Groups: []group.DescribedGroup{
				{
					Group: "g", State: "Stable", ProtocolType: "consumer", Protocol: "range", Generation: 4, Leader: "m",
					Members: []group.DescribedMember{{MemberID: "m", InstanceID: new("i"), Client: client, Metadata: []byte{1}, Assignment: []byte{2}}},
				},
				{Group: "h", Code: group.GroupIDNotFound, Message: "not found", State: "Dead"},
			}}))
			g, h := resp.Groups[0], resp.Groups[1]
			require.Equal(t, "Stable", g.State)
			require.Equal(t, "consumer", g.ProtocolType)
			require.Equal(t, "range", g.Protocol)
			require.Nil(t, g.ErrorMessage)
			require.Equal(t, []kmsg.DescribeGroupsResponseGroupMember{{
				MemberID: "m", InstanceID: from(v, 4, new("i")), ClientID: "c", ClientHost: "/10.0.0.1",
				ProtocolMetadata: []byte{1}, MemberAssignment: []byte{2},
			}}, g.Members)
			if v >= 3 && ops {
				require.EqualValues(t, 3400, g.AuthorizedOperations)
			} else {
				require.EqualValues(t, -2147483648, g.AuthorizedOperations)
			}
			require.EqualValues(t, -2147483648, h.AuthorizedOperations, "an error has no operations")
			require.EqualValues(t, 69, h.ErrorCode)
			require.Equal(t, from(v, 6, new("not found")), h.ErrorMessage)

			resp = answered[*kmsg.DescribeGroupsResponse](t, translate(t, in, v).Fail(group.NotCoordinator))
			require.Len(t, resp.Groups, 2)
			for i, name := range []string{"g", "h"} {
				require.Equal(t, name, resp.Groups[i].Group)
				require.EqualValues(t, 16, resp.Groups[i].ErrorCode)
			}
		})
	}
}

func TestListGroups(t *testing.T) {
	in := &kmsg.ListGroupsRequest{StatesFilter: []string{"Stable"}, TypesFilter: []string{"classic"}}
	eachVersion(t, 0, 5, func(t *testing.T, v int16) {
		req := translate(t, in, v)
		require.Equal(t, group.List{Req: reqID, States: from(v, 4, []string{"Stable"}), Types: from(v, 5, []string{"classic"})}, req.Event(reqID))
		req.(*ListGroups).Keep = func(name string) bool { return name != "other" }
		resp := answered[*kmsg.ListGroupsResponse](t, req.Answer(group.ListResult{Groups: []group.ListedGroup{
			{Group: "g", ProtocolType: "consumer", State: "Stable", Type: "classic"}, {Group: "other"},
		}}))
		require.Equal(t, []kmsg.ListGroupsResponseGroup{{
			Group: "g", ProtocolType: "consumer", GroupState: from(v, 4, "Stable"), GroupType: from(v, 5, "classic"),
		}}, resp.Groups)
		for _, failed := range []kmsg.Response{
			translate(t, in, v).Fail(group.CoordinatorLoadInProgress),
			translate(t, in, v).Answer(group.ListResult{Code: group.CoordinatorLoadInProgress}),
		} {
			resp = answered[*kmsg.ListGroupsResponse](t, failed)
			require.EqualValues(t, 14, resp.ErrorCode)
			require.Empty(t, resp.Groups)
		}
	})
}

func TestDeleteGroups(t *testing.T) {
	in := &kmsg.DeleteGroupsRequest{Groups: []string{"g", "h", "g"}}
	eachVersion(t, 0, 3, func(t *testing.T, v int16) {
		req := translate(t, in, v)
		require.Equal(t, group.DeleteGroups{Req: reqID, Groups: []string{"g", "h", "g"}}, req.Event(reqID))
		resp := answered[*kmsg.DeleteGroupsResponse](t, req.Answer(group.DeleteGroupsResult{Groups: []group.DeletedGroup{
			{Group: "g"}, {Group: "h", Code: group.NonEmptyGroup},
		}}))
		require.Len(t, resp.Groups, 2)
		require.Nil(t, resp.Groups[0].ErrorMessage)
		require.EqualValues(t, 68, resp.Groups[1].ErrorCode)
		require.Nil(t, resp.Groups[1].ErrorMessage)
		resp = answered[*kmsg.DeleteGroupsResponse](t, translate(t, in, v).Fail(group.NotCoordinator))
		require.Len(t, resp.Groups, 2, "each name once")
		require.EqualValues(t, 16, resp.Groups[0].ErrorCode)
	})
}

func TestForeignKeysAreRefused(t *testing.T) {
	_, err := New(kmsg.NewPtrMetadataRequest(), client, freshID)
	require.ErrorContains(t, err, "Metadata")
}
