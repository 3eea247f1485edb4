package group

// describe answers DescribeGroups (key 15).
func (m *Machine) describe(d *Describe) {
	r := DescribeResult{Groups: make([]DescribedGroup, len(d.Groups))}
	for i, name := range d.Groups {
		r.Groups[i] = m.described(name, d.Version)
	}
	m.reply(d.Req, r)
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
