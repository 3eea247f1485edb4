package group

import "slices"

// sweepStep is how many groups one tick looks at, so that a sweep never holds up the loop.
const sweepStep = 128

// expireOffsets looks at the next groups of the sweep (KIP-211), or begins one.
func (m *Machine) expireOffsets() {
	if len(m.sweeps) == 0 {
		for _, g := range m.order {
			if g.image != nil {
				m.sweeps = append(m.sweeps, g.name)
			}
		}
		slices.Sort(m.sweeps)
	}
	n := min(sweepStep, len(m.sweeps))
	for _, name := range m.sweeps[:n] {
		if g := m.find(name); g != nil {
			m.sweepGroup(g)
		}
	}
	m.sweeps = m.sweeps[n:]
	if len(m.sweeps) > 0 {
		m.timers.arm(&m.sweep, m.now)
		return
	}
	m.sweeps = nil
	m.timers.arm(&m.sweep, m.now+max(m.cfg.RetentionCheckInterval, retryDelay))
}

// sweepGroup asks to remove the offsets of a group that have expired, and the group if then nothing is left of it. A
// group with a proposal in flight is left to the next sweep.
func (m *Machine) sweepGroup(g *group) {
	if g.live != nil && g.live.flight != flightDone {
		return
	}
	empty := g.state() == stateEmpty
	topics, count, newest := m.expired(g)
	if count == 0 && (!empty || len(g.image.topics) > 0) {
		return
	}
	m.awake(g)
	f := m.proposeMeta(g, flightExpire, &OffsetDelete{
		Group: g.name, Topics: topics, Expired: true, Before: newest, DropEmpty: empty,
	})
	f.count = count
}

// expired lists the offsets of a group that have expired by now, with their number and the newest of their commit times:
// a commit that is still on its way to the log is newer, and the removal that comes behind it there must leave it.
func (m *Machine) expired(g *group) (out []PartitionSet, count int, newest int64) {
	im := g.image
	if len(im.topics) == 0 {
		return nil, 0, 0
	}
	since := int64(-1) // -1: each offset counts from its own commit
	var topicsInUse subscribed
	switch state := g.state(); {
	case state == stateEmpty && im.protocolType == "": // assigned by hand, or by an admin
	case state == stateEmpty:
		since = im.stateTime
	case state == stateStable && im.protocolType == consumerProtocol:
		if topicsInUse = im.subscribed(); topicsInUse.unknown {
			return nil, 0, 0
		}
	default:
		return nil, 0, 0
	}
	retention := m.cfg.OffsetsRetention.Milliseconds()
	isExpired := func(o *offsets, p offset) bool {
		if _, expire := o.extra(p); expire >= 0 {
			return m.wall >= expire
		}
		base := since
		if base < 0 {
			base = p.commitTime
		}
		return m.wall-base >= retention
	}
	for i := 0; i < len(im.topics); {
		name := im.topics[i].topic.name
		same := im.named(name)
		i += len(same)
		if topicsInUse.has(name) {
			continue
		}
		if set := expiredPartitions(same, isExpired); len(set) > 0 {
			out = append(out, PartitionSet{Topic: name, Partitions: set})
			count += len(set)
			for _, o := range same {
				for _, partition := range set {
					if p, ok := o.get(partition); ok {
						newest = max(newest, p.commitTime)
					}
				}
			}
		}
	}
	return out, count, newest
}

// expiredPartitions lists the partitions of one topic that have expired under each id that they are held by.
func expiredPartitions(same []*offsets, isExpired func(*offsets, offset) bool) []int32 {
	var set []int32
	for _, o := range same {
		o.each(func(partition int32, p offset) {
			if isExpired(o, p) {
				set = append(set, partition)
			}
		})
	}
	if len(same) == 1 {
		return set
	}
	slices.Sort(set)
	return slices.DeleteFunc(slices.Compact(set), func(partition int32) bool {
		return slices.ContainsFunc(same, func(o *offsets) bool {
			p, ok := o.get(partition)
			return ok && !isExpired(o, p)
		})
	})
}

// offsetsSwept tells what a sweep removed.
func (m *Machine) offsetsSwept(g *group, o Outcome) {
	if o.Removed > 0 {
		m.notice(Notice{Kind: OffsetsExpired, Group: g.name, Count: o.Removed})
	}
	if g.image == nil {
		m.notice(Notice{Kind: GroupDeleted, Group: g.name, Reason: "empty and without offsets"})
		m.vanished(g)
	}
}
