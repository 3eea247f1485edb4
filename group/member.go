package group

import (
	"slices"
	"strings"
	"time"
)

// member is a member of a group as the leader sees it.
type member struct {
	id         string
	instance   *string
	client     Client // of the join that added the member
	session    time.Duration
	rebalance  time.Duration
	protocols  []Protocol
	assignment []byte

	join        ReqID // the parked JoinGroup; 0: none
	joinVersion int16
	sync        ReqID // the parked SyncGroup; 0: none
	fresh       bool  // added, and its first join not yet completed
	unsynced    bool  // has not sent SyncGroup in this generation
	durable     bool  // the image has it
	expiry      deadline
}

// ticket is a member id that was issued with MEMBER_ID_REQUIRED and not yet used (KIP-394).
type ticket struct {
	id     string
	expiry deadline
}

func (mb *member) parked() bool { return mb.join != 0 || mb.sync != 0 }

// metadata returns the member's metadata for a protocol.
func (mb *member) metadata(protocol string) []byte {
	for i := range mb.protocols {
		if mb.protocols[i].Name == protocol {
			return mb.protocols[i].Metadata
		}
	}
	return nil
}

func equalProtocols(a, b []Protocol) bool {
	return slices.EqualFunc(a, b, func(x, y Protocol) bool {
		return x.Name == y.Name && equalBytes(x.Metadata, y.Metadata)
	})
}

func equalBytes(a, b []byte) bool { return string(a) == string(b) } // which copies nothing

// cloneProtocols copies names and bytes, so that nothing of the caller's buffer is held.
func cloneProtocols(list []Protocol) []Protocol {
	if len(list) == 0 {
		return nil
	}
	size := 0
	for i := range list {
		size += len(list[i].Name) + len(list[i].Metadata)
	}
	buf := make([]byte, 0, size)
	out := make([]Protocol, len(list))
	for i := range list {
		buf = append(buf, list[i].Metadata...)
		n := len(buf)
		out[i].Metadata = buf[n-len(list[i].Metadata) : n : n]
		out[i].Name = strings.Clone(list[i].Name)
	}
	return out
}

// image returns the durable part of the member.
func (mb *member) image() MemberImage {
	return MemberImage{
		MemberID:         mb.id,
		InstanceID:       mb.instance,
		Client:           mb.client,
		SessionTimeout:   milliseconds(mb.session),
		RebalanceTimeout: milliseconds(mb.rebalance),
		Protocols:        mb.protocols,
		Assignment:       mb.assignment,
	}
}

func milliseconds(d time.Duration) int32 {
	return int32(min(max(d.Milliseconds(), -1<<31), 1<<31-1))
}
