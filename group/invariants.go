package group

import (
	"fmt"
	"slices"
	"strings"
)

// The invariants of the machine. Under the build tag invariants they are checked after every step and every applied
// record, or every so many when the image is large; the tests of this package check them always.
//
//	I1  A group is found under its name, has an image or a volatile half, and stands in order at its place.
//	I2  The counts of groups, members and offsets are those of the images.
//	I3  An image has members if and only if its phase is not PhaseEmpty; their ids differ; its leader is one of them.
//	I4  Offsets are sorted by topic and id, none is counted twice, and each topic knows how many groups hold it.
//	I5  A volatile half exists only while leading, and only if it says something that the image does not.
//	I6  The members, by id and by instance, are one set; the leader is one of them; protocols are counted right.
//	I7  A group is Empty without members; with members it may be Empty only until it prepares the first rebalance.
//	I8  A JoinGroup is parked only in PreparingRebalance or while a static member is being replaced, a SyncGroup only in
//	    CompletingRebalance; their counts are right.
//	I9  In CompletingRebalance and Stable the generation is one that was committed: its number is not beyond the image's.
//	I10 What waits for a proposal has one that it waits for, and a group's proposal in flight is among the flights.
//	I11 Every member and every issued id has a deadline, unless it is parked; a group that prepares a rebalance and has no
//	    proposal in flight has a deadline at which that ends.
//	I12 Deadlines form a heap, and no deadline stands later than it is due.

// mustHold panics when an invariant is broken. A check looks at the whole image, so a large one is not checked each time.
func (m *Machine) mustHold() {
	if m.unchecked++; m.unchecked < (len(m.order)+m.members+m.offsets)/256 {
		return
	}
	m.unchecked = 0
	if err := m.check(); err != nil {
		panic(err)
	}
}

// check returns which invariant is broken, if any.
func (m *Machine) check() error {
	if err := m.checkImages(); err != nil {
		return err
	}
	inFlight := make(map[*group]flightKind)
	m.flights.each(func(f *flight) {
		if f.kind != flightCommit && f.kind != flightDelete && f.group != nil {
			inFlight[f.group] = f.kind
		}
	})
	for _, g := range m.order {
		if g.live == nil {
			continue
		}
		if err := m.checkLive(g, inFlight[g]); err != nil {
			return fmt.Errorf("group %q: %w", g.name, err)
		}
	}
	return m.timers.check()
}

func (m *Machine) checkImages() error {
	groups, members, count, untold := 0, 0, 0, 0
	if len(m.order) != len(m.groups) {
		return fmt.Errorf("I1: %d groups in order, %d by name", len(m.order), len(m.groups))
	}
	held := make(map[*topic]int)
	for i, g := range m.order {
		if m.groups[g.name] != g || g.place != i || g.image == nil && g.live == nil {
			return fmt.Errorf("I1: group %q at %d", g.name, i)
		}
		if g.image == nil {
			continue
		}
		groups++
		members += len(g.image.members)
		if err := g.image.check(); err != nil {
			return fmt.Errorf("group %q: %w", g.name, err)
		}
		for _, o := range g.image.topics {
			count += o.count
			held[o.topic]++
			if o.id == (TopicID{}) {
				untold++
			}
			if m.topics[o.topic.name] != o.topic {
				return fmt.Errorf("I4: group %q holds a forgotten topic %q", g.name, o.topic.name)
			}
		}
	}
	if groups != m.committed || members != m.members || count != m.offsets || untold != m.untold {
		return fmt.Errorf("I2: counted %d %d %d %d, images have %d %d %d %d",
			m.committed, m.members, m.offsets, m.untold, groups, members, count, untold)
	}
	for i, t := range m.names {
		sum := 0
		for _, h := range t.held {
			sum += h.groups
		}
		if m.topics[t.name] != t || t.place != i || sum != held[t] || sum == 0 && !t.known && !t.asked {
			return fmt.Errorf("I4: topic %q is held %d times, counted %d", t.name, held[t], sum)
		}
	}
	return nil
}

func (im *image) check() error {
	if (im.phase == PhaseEmpty) != (len(im.members) == 0) {
		return fmt.Errorf("I3: phase %d with %d members", im.phase, len(im.members))
	}
	for i := range im.members {
		if im.member(im.members[i].MemberID) != i {
			return fmt.Errorf("I3: member %q", im.members[i].MemberID)
		}
	}
	if len(im.members) > 0 && im.member(im.leader) < 0 {
		return fmt.Errorf("I3: leader %q is no member", im.leader)
	}
	for i, o := range im.topics {
		if i > 0 && compareTopics(im.topics[i-1], o.topic.name, o.id) >= 0 {
			return fmt.Errorf("I4: topic %q is out of order", o.topic.name)
		}
		if err := o.check(); err != nil {
			return fmt.Errorf("I4: topic %q: %w", o.topic.name, err)
		}
	}
	return nil
}

func (o *offsets) check() error {
	n, extras, last := 0, 0, int32(-1)
	bad := ""
	o.each(func(partition int32, p offset) {
		n++
		if p.slot >= firstExtra {
			extras++
		}
		if partition <= last || p.slot == absent {
			bad = fmt.Sprintf("partition %d after %d", partition, last)
		}
		last = partition
	})
	if len(o.sparse) > 0 && int(o.sparse[0].partition) < len(o.dense) {
		bad = "sparse below dense"
	}
	if bad != "" || n != o.count || n == 0 || extras+len(o.free) != len(o.extras) {
		return fmt.Errorf("%d offsets counted %d, %d of %d extras and %d free %s", n, o.count, extras, len(o.extras), len(o.free), bad)
	}
	return nil
}

func (m *Machine) checkLive(g *group, flown flightKind) error {
	lv := g.live
	if !m.leading || lv.idle() {
		return fmt.Errorf("I5: leading=%t, state %s", m.leading, lv.state)
	}
	if err := lv.checkMembers(); err != nil {
		return err
	}
	if lv.state == stateEmpty && len(lv.members) > 0 {
		return fmt.Errorf("I7: Empty with %d members", len(lv.members))
	}
	if lv.state == stateCompleting || lv.state == stateStable {
		if lv.joins > 0 && lv.flight != flightReplace {
			return fmt.Errorf("I8: %d joins parked in %s", lv.joins, lv.state)
		}
		if g.image == nil || lv.generation > g.image.generation {
			return fmt.Errorf("I9: generation %d in %s", lv.generation, lv.state)
		}
	}
	if lv.flight != flown {
		return fmt.Errorf("I10: waits for %d, in flight is %d", lv.flight, flown)
	}
	if lv.flight == flightDone && (len(lv.queue) > 0 || len(lv.overdue) > 0) {
		return fmt.Errorf("I10: %d events wait for nothing", len(lv.queue))
	}
	return lv.checkDeadlines()
}

func (lv *live) checkMembers() error {
	joins, unsynced, instances := 0, 0, 0
	offered := make(map[string]int)
	for _, mb := range lv.members {
		if lv.byID[mb.id] != mb || mb.instance != nil && lv.byInstance[*mb.instance] != mb {
			return fmt.Errorf("I6: member %q", mb.id)
		}
		if mb.instance != nil {
			instances++
		}
		for _, p := range mb.protocols {
			offered[p.Name]++
		}
		if mb.join != 0 {
			joins++
		}
		if mb.unsynced {
			unsynced++
		}
		if mb.sync != 0 && lv.state != stateCompleting {
			return fmt.Errorf("I8: sync of %q parked in %s", mb.id, lv.state)
		}
	}
	if len(lv.byID) != len(lv.members) || len(lv.byInstance) != instances || len(offered) != len(lv.offered) {
		return fmt.Errorf("I6: %d members, %d ids, %d instances", len(lv.members), len(lv.byID), len(lv.byInstance))
	}
	for _, mb := range lv.members {
		if slices.ContainsFunc(mb.protocols, func(p Protocol) bool { return lv.offered[p.Name] != offered[p.Name] }) {
			return fmt.Errorf("I6: protocols of %q are counted wrong", mb.id)
		}
	}
	if len(lv.members) > 0 && lv.byID[lv.leader] == nil {
		return fmt.Errorf("I6: leader %q is no member", lv.leader)
	}
	if joins != lv.joins || unsynced != lv.unsynced {
		return fmt.Errorf("I8: %d joins counted %d, %d unsynced counted %d", joins, lv.joins, unsynced, lv.unsynced)
	}
	return nil
}

func (lv *live) checkDeadlines() error {
	var without []string
	for _, mb := range lv.members {
		if mb.expiry.pos == 0 && !mb.parked() {
			without = append(without, mb.id)
		}
	}
	if len(without) > 0 {
		return fmt.Errorf("I11: no deadline for %s", strings.Join(without, ", "))
	}
	if lv.state == statePreparing && lv.flight == flightDone && lv.joinEnd.pos == 0 {
		return fmt.Errorf("I11: the join phase has no end")
	}
	return nil
}

func (h *deadlines) check() error {
	for i, d := range h.heap {
		if d.pos != i+1 || d.due < d.at || i > 0 && h.less(i, (i-1)/2) {
			return fmt.Errorf("I12: deadline %d of kind %d", i, d.kind)
		}
	}
	return nil
}
