package group

// describe answers DescribeGroups (key 15). A group that is named again and again is described again and again, as in Kafka,
// but not without end: a few bytes of a request must not become a large group each.
func (m *Machine) describe(d *Describe) {
	r := DescribeResult{Groups: make([]DescribedGroup, len(d.Groups))}
	again := repeats{room: repeatedItems}
	for i, name := range d.Groups {
		twice := again.named(name)
		if twice && again.room < 0 {
			r.Groups[i] = DescribedGroup{Group: name, Code: UnknownServerError, State: stateDead}
			continue
		}
		r.Groups[i] = m.described(name, d.Version)
		if twice {
			again.room -= len(r.Groups[i].Members)
		}
	}
	m.reply(d.Req, r)
}

// repeatedItems is how many members or offsets an answer may hold because groups are named more than once.
const repeatedItems = 1 << 16

// repeats notices what a request names more than once.
type repeats struct {
	seen map[string]struct{}
	room int
}

func (r *repeats) named(name string) (before bool) {
	if _, before = r.seen[name]; before {
		return true
	}
	if r.seen == nil {
		r.seen = make(map[string]struct{})
	}
	r.seen[name] = struct{}{}
	return false
}

func (m *Machine) described(name string, version int16) DescribedGroup {
	g := m.find(name)
	if g == nil {
		d := DescribedGroup{Group: name, State: stateDead}
		if version >= 6 { // KIP-1043
			d.Code, d.Message = GroupIDNotFound, "Group "+name+" not found."
		}
		return d
	}
	im, lv := g.image, g.live
	d := DescribedGroup{Group: name, State: g.state().String(), ProtocolType: im.protocolType, Generation: im.generation}
	if lv == nil {
		return d
	}
	d.ProtocolType, d.Generation, d.Leader = lv.protocolType, lv.generation, lv.leader
	stable := lv.state == stateStable
	if stable {
		d.Protocol = lv.protocol
	}
	d.Members = make([]DescribedMember, len(lv.members))
	for i, mb := range lv.members {
		d.Members[i] = DescribedMember{MemberID: mb.id, InstanceID: mb.instance, Client: mb.client, Assignment: mb.assignment}
		if stable {
			d.Members[i].Metadata = mb.metadata(lv.protocol)
		}
	}
	return d
}
