package group

import (
	"slices"
	"strings"
)

// classic is the type of all groups here, as ListGroups v5 says it.
const classic = "classic"

// list answers ListGroups (key 16).
func (m *Machine) list(l *List) {
	var r ListResult
	if len(l.Types) == 0 || slices.ContainsFunc(l.Types, func(t string) bool { return strings.EqualFold(t, classic) }) {
		var wanted [stateCount]bool
		for s := range wanted {
			wanted[s] = matches(l.States, state(s).String())
		}
		for _, g := range m.order {
			if g.image == nil || !wanted[g.state()] {
				continue
			}
			listed := ListedGroup{Group: g.name, ProtocolType: g.image.protocolType, State: g.state().String(), Type: classic}
			if g.live != nil {
				listed.ProtocolType = g.live.protocolType
			}
			r.Groups = append(r.Groups, listed)
		}
	}
	slices.SortFunc(r.Groups, func(a, b ListedGroup) int { return strings.Compare(a.Group, b.Group) })
	m.reply(l.Req, r)
}

// matches tells whether a filter of states lets a state through; values that nothing has match nothing. States are
// trimmed, types are not, as in Kafka.
func matches(filter []string, value string) bool {
	return len(filter) == 0 ||
		slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(strings.TrimSpace(f), value) })
}
