package gateway

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The kinds of coordinator that FindCoordinator can ask for (KIP-98, KIP-932).
const (
	coordinatorGroup       = int8(0)
	coordinatorTransaction = int8(1)
)

const (
	codeNone                    = int16(0)
	codeLeaderNotAvailable      = int16(5)
	codeCoordinatorNotAvailable = int16(15)
	codeInvalidRequest          = int16(42)
)

// FindCoordinator answers a lookup of group coordinators; whether a group exists does not matter. The answer names a live
// broker's id with the address that Metadata names for it. A lookup of transaction coordinators is not local: it passes,
// and its answer is rewritten. Share coordinators are refused as by a Kafka whose share groups are off, unknown kinds as by
// any Kafka.
func (d *Directory) FindCoordinator(req *kmsg.FindCoordinatorRequest) (resp *kmsg.FindCoordinatorResponse, local bool) {
	kind := req.CoordinatorType
	if req.Version == 0 {
		kind = coordinatorGroup // Version 0 has no other.
	}
	if kind == coordinatorTransaction {
		return nil, false
	}
	resp = kmsg.NewPtrFindCoordinatorResponse()
	resp.Version = req.Version
	// known is false where Kafka fails the request as a whole; then the entries of the batched form carry a message.
	const shareCoordinator = int8(2)
	known := kind == coordinatorGroup || kind == shareCoordinator
	table := d.Table()
	lookup := func(key string) coordinator {
		if kind != coordinatorGroup {
			return noCoordinator(codeInvalidRequest)
		}
		return table.coordinator(key)
	}
	if req.Version < 4 {
		c := lookup(req.CoordinatorKey)
		resp.ErrorCode, resp.NodeID, resp.Host, resp.Port = c.code, c.id, c.host, c.port
		message := "NONE" // The literal text of Kafka's error 0.
		if c.code != codeNone {
			message = errorText(c.code)
		}
		resp.ErrorMessage = &message
		return resp, true
	}
	resp.Coordinators = make([]kmsg.FindCoordinatorResponseCoordinator, 0, len(req.CoordinatorKeys))
	for _, key := range req.CoordinatorKeys {
		c := lookup(key)
		entry := kmsg.NewFindCoordinatorResponseCoordinator()
		entry.Key, entry.ErrorCode, entry.NodeID, entry.Host, entry.Port = key, c.code, c.id, c.host, c.port
		message := ""
		if !known {
			message = errorText(c.code)
		}
		entry.ErrorMessage = &message
		resp.Coordinators = append(resp.Coordinators, entry)
	}
	return resp, true
}

// coordinator is one answer of a lookup.
type coordinator struct {
	code int16
	id   int32
	host string
	port int32
}

func noCoordinator(code int16) coordinator { return coordinator{code: code, id: -1, port: -1} }

func (t *Table) coordinator(group string) coordinator {
	id, ok := t.Coordinator(group)
	if !ok {
		return noCoordinator(codeCoordinatorNotAvailable)
	}
	host, port, ok := t.Advertised(id)
	if !ok {
		return noCoordinator(codeCoordinatorNotAvailable)
	}
	return coordinator{id: id, host: host, port: port}
}

// errorText is the text that Kafka gives to an error code.
func errorText(code int16) string {
	if e := kerr.TypedErrorForCode(code); e != nil {
		return e.Description
	}
	return ""
}
