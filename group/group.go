package group

import (
	"slices"
	"time"
)

// group is one consumer group: what is durable of it, and on a leader what is not.
type group struct {
	name  string
	place int    // index in Machine.order
	image *image // nil: nothing is committed
	live  *live  // nil: not leading, or the group is Empty and idle
	dirty bool   // listed in Machine.dirty
}

// live is the volatile half of a group that is not idle. It begins as the image says and runs ahead of it while a
// rebalance is prepared; what is decided becomes durable with a GroupMeta and is taken from the image again then.
type live struct {
	state        state
	generation   int32
	protocolType string
	protocol     string // "" before the first generation and in Empty
	leader       string
	members      []*member // in the order of joining
	byID         map[string]*member
	byInstance   map[string]*member
	offered      map[string]int // by protocol name, how often members offer it
	tickets      map[string]*ticket
	joins        int // parked JoinGroups
	unsynced     int // members that have not sent SyncGroup in this generation

	initial  bool          // Preparing was entered from Empty: the initial delay applies
	extended bool          // a member was added since the initial delay was last set
	delay    time.Duration // the initial delay last set
	budget   time.Duration // what the initial delay may still be extended by

	answerType     *string // the protocol type and name of the generation, as answers point to them
	answerProtocol *string

	joinEnd deadline
	syncEnd deadline

	flight    flightKind  // the metadata proposal in flight; flightDone: none
	queue     []Event     // what waits for it, in order
	farewells []farewell  // LeaveGroups that are answered once the group is Empty
	overdue   []*deadline // what came while it was in flight
}

func newLive(g *group) *live {
	lv := &live{
		byID:       make(map[string]*member),
		byInstance: make(map[string]*member),
		offered:    make(map[string]int),
		tickets:    make(map[string]*ticket),
	}
	lv.joinEnd = deadline{kind: joinDeadline, group: g}
	lv.syncEnd = deadline{kind: syncDeadline, group: g}
	if im := g.image; im != nil {
		lv.state = stateOf(im.phase)
		lv.adopt(im)
	}
	return lv
}

// adopt takes over what a committed GroupMeta says of the group itself.
func (lv *live) adopt(im *image) {
	if im == nil { // deleted meanwhile by a proposal that was taken for failed
		lv.protocol, lv.leader = "", ""
		return
	}
	protocolType, protocol := im.protocolType, im.protocol
	lv.answerType, lv.answerProtocol = &protocolType, &protocol
	lv.generation, lv.protocolType, lv.protocol, lv.leader = im.generation, im.protocolType, im.protocol, im.leader
}

// share makes members use the memory of the image once it holds the same.
func (lv *live) share(im *image) {
	for i, mb := range lv.members {
		mi := &im.members[i]
		mb.protocols, mb.assignment, mb.durable = mi.Protocols, mi.Assignment, true
	}
}

// state returns the state that clients see.
func (g *group) state() state {
	if g.live == nil {
		return stateEmpty
	}
	return g.live.state
}

// set moves the group to another state.
func (lv *live) set(s state) {
	if invariantsEnabled && !s.mayFollow(lv.state) {
		panic("group: from " + lv.state.String() + " to " + s.String())
	}
	lv.state = s
}

// idle tells whether the volatile half says nothing that the image does not.
func (lv *live) idle() bool {
	return lv.state == stateEmpty && lv.flight == flightDone && len(lv.members) == 0 && len(lv.tickets) == 0 &&
		len(lv.queue) == 0 && len(lv.farewells) == 0
}

// add takes in a member. The first one gives the group its protocol type and leads.
func (lv *live) add(mb *member, protocolType string) {
	if len(lv.members) == 0 {
		lv.protocolType = protocolType
	}
	if lv.leader == "" {
		lv.leader = mb.id
	}
	lv.members = append(lv.members, mb)
	lv.byID[mb.id] = mb
	if mb.instance != nil {
		lv.byInstance[*mb.instance] = mb
	}
	lv.count(mb.protocols, 1)
}

// remove takes a member out; its parked requests have been answered. If it led, the oldest member does.
func (lv *live) remove(mb *member) {
	lv.members = slices.Delete(lv.members, slices.Index(lv.members, mb), slices.Index(lv.members, mb)+1)
	lv.forget(mb)
}

// removeAll takes out all members that gone selects, in one pass.
func (lv *live) removeAll(gone func(*member) bool) {
	kept := lv.members[:0]
	var removed []*member
	for _, mb := range lv.members {
		if gone(mb) {
			removed = append(removed, mb)
		} else {
			kept = append(kept, mb)
		}
	}
	clear(lv.members[len(kept):])
	lv.members = kept
	for _, mb := range removed {
		lv.forget(mb)
	}
}

func (lv *live) forget(mb *member) {
	delete(lv.byID, mb.id)
	if mb.instance != nil && lv.byInstance[*mb.instance] == mb {
		delete(lv.byInstance, *mb.instance)
	}
	lv.count(mb.protocols, -1)
	lv.owe(mb, false)
	if lv.leader == mb.id {
		lv.leader = ""
		if len(lv.members) > 0 {
			lv.leader = lv.members[0].id
		}
	}
}

// replaceProtocols gives a member another list.
func (lv *live) replaceProtocols(mb *member, list []Protocol) {
	lv.count(mb.protocols, -1)
	mb.protocols = list
	lv.count(mb.protocols, 1)
}

func (lv *live) count(list []Protocol, by int) {
	for i := range list {
		name := list[i].Name
		if n := lv.offered[name] + by; n == 0 {
			delete(lv.offered, name)
		} else {
			lv.offered[name] = n
		}
	}
}

// supports tells whether a member with this protocol type and list could be in the group.
func (lv *live) supports(protocolType string, list []Protocol) bool {
	if lv.state == stateEmpty {
		return protocolType != "" && len(list) > 0
	}
	return protocolType == lv.protocolType &&
		slices.ContainsFunc(list, func(p Protocol) bool { return lv.offered[p.Name] == len(lv.members) })
}

// vote selects the protocol of the next generation: each member votes for the first of its list that all support; the
// most votes win, and among equals the one that comes first in the list of the member that has been there longest.
func (lv *live) vote() string {
	type candidate struct {
		name  string
		votes int
	}
	var candidates []candidate
	place := make(map[string]int) // of a candidate: a member may offer as many protocols as fit into a request
	for _, p := range lv.members[0].protocols {
		if _, twice := place[p.Name]; !twice && lv.offered[p.Name] >= len(lv.members) {
			place[p.Name] = len(candidates)
			candidates = append(candidates, candidate{name: p.Name})
		}
	}
	for _, mb := range lv.members {
		for _, p := range mb.protocols {
			if i, ok := place[p.Name]; ok {
				candidates[i].votes++
				break
			}
		}
	}
	best := candidate{}
	for _, c := range candidates {
		if c.votes > best.votes {
			best = c
		}
	}
	return best.name
}

// rebalanceTimeout is the longest that any member asks for; none without members.
func (lv *live) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for i, mb := range lv.members {
		if i == 0 || mb.rebalance > longest {
			longest = mb.rebalance
		}
	}
	return longest
}

// allJoined tells whether nobody is waited for.
func (lv *live) allJoined() bool { return lv.joins == len(lv.members) && len(lv.tickets) == 0 }

// owe marks whether a member still has to send SyncGroup.
func (lv *live) owe(mb *member, sync bool) {
	if mb.unsynced == sync {
		return
	}
	mb.unsynced = sync
	if sync {
		lv.unsynced++
	} else {
		lv.unsynced--
	}
}

// check finds the member that a request names. The instance id is looked at first (KIP-345).
func (lv *live) check(id string, instance *string) (*member, Code) {
	if instance != nil {
		mb := lv.byInstance[*instance]
		if mb == nil {
			return nil, UnknownMemberID
		}
		if mb.id != id {
			return nil, FencedInstanceID
		}
	}
	mb := lv.byID[id]
	if mb == nil {
		return nil, UnknownMemberID
	}
	return mb, None
}

// joinMembers is what the leader of a generation is told of the members.
func (lv *live) joinMembers() []JoinMember {
	out := make([]JoinMember, len(lv.members))
	for i, mb := range lv.members {
		out[i] = JoinMember{MemberID: mb.id, InstanceID: mb.instance, Metadata: mb.metadata(lv.protocol)}
	}
	return out
}
