package gateway

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

// errAddress is returned rather than an answer that could leak an address.
var errAddress = errors.New("the answer cannot be searched for addresses")

// NeedsRewrite reports whether the answers of an API and version can carry addresses of brokers, so that they have to go
// through Rewrite as a whole. ApiVersions is not among them; see EditAPIVersions.
func NeedsRewrite(key, version int16) bool {
	switch key {
	case keyMetadata, keyFindCoordinator, keyDescribeCluster:
		return true
	case keyProduce:
		return version >= 10
	case keyFetch:
		return version > wire.FetchMaxOpaque
	case keyDescribeQuorum:
		return version >= 2
	}
	return false
}

// Rewrite replaces the addresses of real brokers in an answer, given as its body after the header, by the advertised ones.
// A broker without a port is left out, its partitions have no leader and error 5 (LEADER_NOT_AVAILABLE). What is returned
// may be body itself when nothing had to change; body is never written to. An error means that the answer is not of its
// version's form: it must not reach the client.
func (d *Directory) Rewrite(key, version int16, body []byte) (newBody []byte, err error) {
	limit, ok := decodedAPIs[key]
	if !ok || version < 0 || version > limit {
		return nil, fmt.Errorf("%s version %d: %w", kmsg.NameForKey(key), version, errAddress)
	}
	switch key {
	case keyMetadata:
		newBody, err = d.rewriteMetadata(version, body)
	case keyFindCoordinator:
		newBody, err = d.rewriteFindCoordinator(version, body)
	case keyDescribeCluster:
		newBody, err = d.rewriteDescribeCluster(version, body)
	case keyDescribeQuorum:
		newBody, err = rewriteDescribeQuorum(version, body)
	case keyProduce:
		newBody, err = d.rewriteProduce(version, body)
	case keyFetch:
		newBody, err = d.rewriteFetch(version, body)
	default:
		err = errAddress
	}
	if err != nil {
		return nil, fmt.Errorf("%s version %d: %w", kmsg.NameForKey(key), version, err)
	}
	return newBody, nil
}

// decode reads an answer into resp. What it holds may point into body.
func decode(resp kmsg.Response, version int16, body []byte) error {
	resp.SetVersion(version)
	return resp.ReadFrom(body)
}

func (d *Directory) rewriteFindCoordinator(version int16, body []byte) ([]byte, error) {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if err := decode(resp, version, body); err != nil {
		return nil, err
	}
	table := d.Table()
	address := func(code *int16, id *int32, host *string, port *int32) {
		if *id < 0 {
			*host, *port = "", -1
			return
		}
		h, p, ok := table.Advertised(*id)
		if !ok {
			d.warnNoPort(*id)
			*code, *id, h, p = codeCoordinatorNotAvailable, -1, "", -1
		}
		*host, *port = h, p
	}
	if version < 4 {
		address(&resp.ErrorCode, &resp.NodeID, &resp.Host, &resp.Port)
	}
	for i := range resp.Coordinators {
		c := &resp.Coordinators[i]
		address(&c.ErrorCode, &c.NodeID, &c.Host, &c.Port)
	}
	return resp.AppendTo(nil), nil
}

func (d *Directory) rewriteDescribeCluster(version int16, body []byte) ([]byte, error) {
	resp := kmsg.NewPtrDescribeClusterResponse()
	if err := decode(resp, version, body); err != nil {
		return nil, err
	}
	const controllers = 2
	if resp.EndpointType == controllers {
		// A broker refuses to describe controllers; if it did not, their addresses would be of no use to a client.
		resp.Brokers = nil
		return resp.AppendTo(nil), nil
	}
	table := d.Table()
	resp.Brokers = advertised(d, table, resp.Brokers, func(b *kmsg.DescribeClusterResponseBroker) (int32, *string, *int32) {
		return b.NodeID, &b.Host, &b.Port
	})
	other := int32(-1)
	if len(resp.Brokers) > 0 {
		other = resp.Brokers[0].NodeID
	}
	resp.ControllerID = reachableController(table, resp.ControllerID, other)
	return resp.AppendTo(nil), nil
}

// rewriteDescribeQuorum removes the listeners of controllers. Clients show them to people and do not dial them.
func rewriteDescribeQuorum(version int16, body []byte) ([]byte, error) {
	resp := kmsg.NewPtrDescribeQuorumResponse()
	if err := decode(resp, version, body); err != nil {
		return nil, err
	}
	for i := range resp.Nodes {
		resp.Nodes[i].Listeners = nil
	}
	return resp.AppendTo(nil), nil
}

// reachableController returns the id that clients send requests for the controller to: the one Kafka names, or another
// one when that has no port. Brokers name any live broker there and pass such requests on (KIP-500).
func reachableController(table *Table, id, other int32) int32 {
	if id < 0 {
		return id
	}
	if _, _, ok := table.Advertised(id); ok {
		return id
	}
	return other
}

// advertised gives brokers the addresses that clients are told, in place, and leaves out those that have no port.
func advertised[B any](d *Directory, table *Table, brokers []B, fields func(*B) (id int32, host *string, port *int32)) []B {
	kept := brokers[:0]
	for i := range brokers {
		id, host, port := fields(&brokers[i])
		toldHost, toldPort, ok := table.Advertised(id)
		if !ok {
			d.warnNoPort(id)
			continue
		}
		*host, *port = toldHost, toldPort
		kept = append(kept, brokers[i])
	}
	return kept
}
