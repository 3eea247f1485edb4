package differential

import (
	"fmt"
	"strings"
	"time"
)

// The session of these sequences is long enough to tell a renewed one from one that was not, also on a loaded machine:
// what may renew it happens at acted, so it ends at session or later by acted.
const (
	acted   = 8 * time.Second
	session = 12 * time.Second
)

// sessionSequences are those of what renews a member's session and what does not.
func sessionSequences(add adder) {
	type action struct {
		name, lines string
		state       string // the group's state at the time: Stable, Preparing or Completing
		renews      bool
		do          func(s *Script, a, b *Member)
	}
	commit := func(change func(*Script, *Member) *Call, code int16) func(*Script, *Member, *Member) {
		return func(s *Script, _, b *Member) { change(s, b).Want(code) }
	}
	good := func(_ *Script, b *Member) *Call { return b.Commit("orders", 0, 1) }
	actions := []action{
		{"nothing", "3.48", "Stable", false, func(*Script, *Member, *Member) {}},
		{"heartbeat", "3.48", "Stable", true, func(_ *Script, _, b *Member) { b.Heartbeat().Want(0) }},
		{"heartbeat while preparing", "2.25 3.48 8.58", "Preparing", true, func(_ *Script, _, b *Member) { b.Heartbeat().Want(27) }},
		{"heartbeat while completing", "3.48 8.58", "Completing", true, func(_ *Script, _, b *Member) { b.Heartbeat().Want(0) }},
		{"heartbeat of another generation", "2.25", "Stable", false, func(_ *Script, _, b *Member) {
			r := b.HeartbeatRequest()
			r.Generation = 99
			b.conn.Send(r).Want(22)
		}},
		{"commit", "3.48 8.61", "Stable", true, commit(good, 0)},
		{"commit while preparing", "3.48 4.4", "Preparing", true, commit(good, 0)},
		{"commit while completing", "3.48", "Completing", false, commit(good, 27)},
		{"commit of another generation", "3.48 4.4", "Stable", false, commit(func(_ *Script, b *Member) *Call {
			return b.conn.Send(b.g.CommitRequest(99, b.ID, nil, "orders", 0, 1))
		}, 22)},
		{"commit of an unknown partition", "2.32 3.48", "Stable", false, commit(func(_ *Script, b *Member) *Call {
			return b.conn.Send(b.g.CommitRequest(b.Gen, b.ID, nil, "orders", 99, 1))
		}, 3)},
		{"commit without topics", "2.32 3.48", "Stable", false, func(_ *Script, _, b *Member) {
			b.conn.Send(b.g.CommitAll(b.Gen, b.ID, nil)).Answer()
		}},
		{"commit with long metadata", "4.4", "Stable", true, commit(func(_ *Script, b *Member) *Call {
			long := strings.Repeat("x", 5000)
			return b.conn.Send(b.g.CommitAll(b.Gen, b.ID, nil, commitOf("orders", 0, 1, &long)))
		}, 12)},
		{"unchanged rejoin of a follower", "3.25 3.23", "Stable", false, func(_ *Script, _, b *Member) { b.Join().Joined() }},
		{"unchanged rejoin while completing", "3.25 3.21", "Completing", false, func(_ *Script, _, b *Member) { b.Join().Joined() }},
		{"sync in the stable group", "3.45 3.47", "Stable", false, func(_ *Script, _, b *Member) { b.Sync().Want(0) }},
		{"parked sync is answered", "3.45 3.42", "Completing", true, func(_ *Script, a, b *Member) {
			sb := b.Sync()
			sb.Silent(lull)
			a.Sync(a.ID, "x", b.ID, "y").Want(0)
			sb.Want(0)
		}},
		{"join phase completes", "3.15 3.48", "Preparing", true, func(s *Script, _, b *Member) {
			b.Join().Joined()
			s.parked.Joined()
		}},
		{"refused sync", "3.48", "Preparing", false, func(_ *Script, _, b *Member) { b.Sync().Want(27) }},
		{"refused join", "3.48 2.15", "Stable", false, func(_ *Script, _, b *Member) {
			was := b.Protos
			b.Protos = protos("nothing in common", "x")
			b.Join().Want(23)
			b.Protos = was
		}},
	}
	for _, e := range []era{0, 4, 9} {
		for _, act := range actions {
			name := fmt.Sprintf("session/%s/v%d", act.name, e)
			add(name, act.lines, only(keyHeartbeat, keyOffsetCommit, keyJoinGroup, keySyncGroup), func(s *Script) {
				g := s.Group("g", e)
				a, b := g.Member("a"), g.Member("b")
				a.Session, b.Session = maxSession, int32(session.Milliseconds())
				var start time.Time
				if act.state == "Completing" {
					g.Stable(a)
					jb := b.Enter()
					g.Await("PreparingRebalance", 2)
					start = time.Now()
					a.Join().Joined()
					jb.Joined()
				} else {
					g.Stable(a, b)
					start = time.Now()
				}
				if act.state == "Preparing" {
					s.parked = a.Join()
					g.Await("PreparingRebalance", 2)
				}
				s.Pause(acted - time.Since(start))
				s.due = start.Add(session - time.Second)
				act.do(s, a, b)
				s.OnTime(start, session-time.Second)
				s.due = time.Time{}
				s.patient("b to be removed", 40*time.Second, func() bool { return g.lacks(b) })
				// A session that was not renewed ends at session, a renewed one not before acted and session; what comes in
				// between is a late timer on a machine that is too slow, or a deviation, which comes back at every try.
				st, took := Step{Label: "the session of b", Kind: "not renewed"}, time.Since(start)
				if took >= acted+session {
					st.Kind = "renewed"
				} else {
					s.OnTime(start, session+acted/2)
				}
				if (st.Kind == "renewed") != act.renews {
					st.Mismatch = fmt.Sprintf("%s, b went after %v", st.Kind, took)
				}
				s.steps = append(s.steps, st)
			})
		}
	}
}

func commitOf(topic string, partition int32, offset int64, metadata *string) commit {
	return commit{topic: topic, partition: partition, offset: offset, metadata: metadata, epoch: -1}
}

// lacks asks, without recording, whether a member is gone.
func (g *Group) lacks(m *Member) bool {
	for _, x := range g.describe().Members {
		if x.MemberID == m.ID {
			return false
		}
	}
	return true
}
