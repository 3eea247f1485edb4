package group

import "time"

// commit answers OffsetCommit (key 8). Any number of a group's commits may be in flight; each is checked again when it
// is applied, and the client hears what came of it.
func (m *Machine) commit(c *Commit) {
	g := m.groups[c.Group]
	mb, code := m.mayCommit(g, c)
	if code != None {
		if code == FencedInstanceID {
			m.notice(Notice{Kind: MemberFenced, Group: c.Group, Generation: c.Generation, Member: c.MemberID, Reason: "commit"})
		}
		m.reply(c.Req, commitResult(code))
		return
	}
	if mb != nil {
		m.renew(mb)
	}
	topics, codes := c.Topics, []Code(nil)
	if m.anyTooLarge(topics) {
		topics, codes = m.withoutTooLarge(topics)
		if len(topics) == 0 {
			m.reply(c.Req, &CommitResult{Partitions: codes})
			return
		}
	}
	r := &OffsetCommit{Group: c.Group, CommitTime: m.wall, ExpireTime: -1, Topics: topics}
	if g != nil {
		r.Group = g.name
	}
	if c.Retention >= 0 && c.Version < 5 {
		r.ExpireTime = addMillis(m.wall, c.Retention)
	}
	r.Guard.Generation = c.Generation
	if mb == nil {
		r.Guard.Simple = true
	} else if mb.durable {
		r.Guard.MemberID, r.Guard.InstanceID = mb.id, c.InstanceID
	}
	f := m.propose(r)
	f.kind, f.req, f.version, f.group, f.codes = flightCommit, c.Req, c.Version, g, codes
	m.parked++
}

func addMillis(now int64, d time.Duration) int64 { return now + d.Milliseconds() }

// mayCommit validates a commit against its group. The member is nil when the group has none, or does not exist.
func (m *Machine) mayCommit(g *group, c *Commit) (*member, Code) {
	if g == nil || g.image == nil {
		switch {
		case c.Generation < 0:
			return nil, None
		case c.Version >= 9:
			return nil, GroupIDNotFound
		default:
			return nil, IllegalGeneration
		}
	}
	lv := g.live
	if g.state() == stateEmpty {
		if c.Generation < 0 {
			return nil, None // whatever member it names: an admin, or a consumer that assigns itself
		}
		return nil, UnknownMemberID
	}
	if c.Generation < 0 && c.MemberID == "" && c.InstanceID == nil {
		return nil, UnknownMemberID
	}
	mb, code := lv.check(c.MemberID, c.InstanceID)
	switch {
	case code != None:
		return nil, code
	case c.Generation != lv.generation:
		return nil, IllegalGeneration
	case lv.state == stateCompleting:
		return nil, RebalanceInProgress
	}
	return mb, None
}

func (m *Machine) commitLanded(f *flight, o Outcome) {
	code := o.Code
	if code == GroupIDNotFound && f.version < 9 {
		code = IllegalGeneration
	}
	switch {
	case o.Stale:
		name := ""
		if f.group != nil {
			name = f.group.name
		}
		m.notice(Notice{Kind: CommitStale, Group: name, Reason: code.String()})
		m.reply(f.req, commitResult(code))
	case code != None:
		m.reply(f.req, commitResult(code))
	case f.codes != nil:
		mergeCodes(f.codes, o.Partitions)
		m.reply(f.req, &CommitResult{Partitions: f.codes})
	case o.Partitions != nil:
		m.reply(f.req, &CommitResult{Partitions: o.Partitions})
	default:
		m.reply(f.req, commitResult(None))
	}
}

// mergeCodes puts the outcome of the partitions that were proposed into the places that are not refused already.
func mergeCodes(codes, proposed []Code) {
	i := 0
	for at := range codes {
		if codes[at] == None {
			if i < len(proposed) {
				codes[at] = proposed[i]
			}
			i++
		}
	}
}

// committed is the answer that nearly all commits get. It is shared and never written to.
var committed = &CommitResult{}

func commitResult(code Code) *CommitResult {
	if code == None {
		return committed
	}
	return &CommitResult{Code: code}
}

func (m *Machine) anyTooLarge(topics []OffsetTopic) bool {
	for i := range topics {
		for j := range topics[i].Partitions {
			if m.tooLarge(topics[i].Partitions[j].Metadata) {
				return true
			}
		}
	}
	return false
}

// tooLarge tells whether metadata exceeds the limit, which Kafka counts in UTF-16 code units.
func (m *Machine) tooLarge(metadata string) bool {
	limit := m.cfg.OffsetMetadataMaxBytes
	if len(metadata) <= limit { // a string has at least as many bytes as units
		return false
	}
	units := 0
	for _, r := range metadata {
		units++
		if r > 0xFFFF {
			units++
		}
	}
	return units > limit
}

// withoutTooLarge copies the partitions whose metadata is not too large, and gives the codes of all.
func (m *Machine) withoutTooLarge(topics []OffsetTopic) (kept []OffsetTopic, codes []Code) {
	for i := range topics {
		t := OffsetTopic{Name: topics[i].Name, ID: topics[i].ID}
		for _, p := range topics[i].Partitions {
			if m.tooLarge(p.Metadata) {
				codes = append(codes, OffsetMetadataTooLarge)
				continue
			}
			codes = append(codes, None)
			t.Partitions = append(t.Partitions, p)
		}
		if len(t.Partitions) > 0 {
			kept = append(kept, t)
		}
	}
	return kept, codes
}
