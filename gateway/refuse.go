package gateway

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

const (
	codeNotLeader          = int16(6)
	codeCoordinatorLoading = int16(14)
	codeNoFetchSession     = int16(70)

	// maxFetchHold bounds how long a fetch that must fail is held: a consumer asks again at once after an error, and a
	// broker without records would have let it wait too.
	maxFetchHold = 500 * time.Millisecond
)

var errNothingKnown = errors.New("nothing is known that would answer it")

// refusableKeys are those that have a retriable error of their own for a broker that is not there. After any other the
// connection is closed, as that of a dead broker is: clients then keep what they know and try another broker.
//
// The errors are chosen by what clients do with them. NOT_LEADER_OR_FOLLOWER makes every one of them keep the records or
// positions, ask for Metadata and try again. COORDINATOR_LOAD_IN_PROGRESS is the one that makes Java's transaction manager
// repeat InitProducerId also without a transactional id, where NOT_COORDINATOR would send it to look up a null.
var refusableKeys = []kmsg.Key{
	kmsg.Metadata, kmsg.Produce, kmsg.Fetch, kmsg.ListOffsets, kmsg.OffsetForLeaderEpoch, kmsg.FindCoordinator,
	kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.EndTxn,
}

// Refusable implements wire.Upstream. A client whose broker had to log it in gets no answers in the broker's name: what it
// may see is the broker's to say, and on a new connection it can log in again.
func (l *link) Refusable(h wire.Header) bool {
	return l.login == nil && slices.Contains(refusableKeys, kmsg.Key(h.Key))
}

// Refuse implements wire.Upstream.
func (l *link) Refuse(h wire.Header, body []byte) (wire.Verdict, error) {
	msg, err := wire.Decode(h.Key, h.Version, body)
	if err != nil {
		return wire.Verdict{}, err
	}
	switch req := msg.(type) {
	case *kmsg.MetadataRequest:
		resp, ok := l.srv.dir.LocalMetadata(req)
		if !ok {
			return wire.Verdict{}, fmt.Errorf("metadata: %w", errNothingKnown)
		}
		return wire.Verdict{Resp: resp}, nil
	case *kmsg.ProduceRequest:
		if req.Acks == 0 {
			return wire.Verdict{}, errLostProduce
		}
		return wire.Verdict{Resp: refuseProduce(req)}, nil
	case *kmsg.FetchRequest:
		hold := min(time.Duration(max(req.MaxWaitMillis, 0))*time.Millisecond, maxFetchHold)
		return wire.Verdict{Resp: refuseFetch(req), After: hold}, nil
	case *kmsg.ListOffsetsRequest:
		return wire.Verdict{Resp: refuseListOffsets(req)}, nil
	case *kmsg.OffsetForLeaderEpochRequest:
		return wire.Verdict{Resp: refuseOffsetForLeaderEpoch(req)}, nil
	case *kmsg.FindCoordinatorRequest:
		return wire.Verdict{Resp: refuseFindCoordinator(req)}, nil
	}
	return refuseTransaction(msg)
}

// The answers below share names, partitions and ids with their requests and say nothing else.

func refuseProduce(req *kmsg.ProduceRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for i := range req.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic, t.TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
		for j := range req.Topics[i].Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode, p.BaseOffset = req.Topics[i].Partitions[j].Partition, codeNotLeader, -1
			p.LogAppendTime, p.LogStartOffset = -1, -1
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// refuseFetch ends a fetch session first: its later requests name only what has changed, so an error for each partition
// would reach few of them (KIP-227).
func refuseFetch(req *kmsg.FetchRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	if req.Version >= 7 && req.SessionID != 0 && req.SessionEpoch > 0 {
		resp.ErrorCode = codeNoFetchSession
		return resp
	}
	for i := range req.Topics {
		t := kmsg.NewFetchResponseTopic()
		t.Topic, t.TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
		for j := range req.Topics[i].Partitions {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition, p.ErrorCode = req.Topics[i].Partitions[j].Partition, codeNotLeader
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
			p.RecordBatches = []byte{} // null would be of the type, but no broker sends it
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func refuseListOffsets(req *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for i := range req.Topics {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = req.Topics[i].Topic
		for j := range req.Topics[i].Partitions {
			p := kmsg.NewListOffsetsResponseTopicPartition()
			p.Partition, p.ErrorCode = req.Topics[i].Partitions[j].Partition, codeNotLeader
			p.Timestamp, p.Offset, p.LeaderEpoch = -1, -1, -1
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func refuseOffsetForLeaderEpoch(req *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for i := range req.Topics {
		t := kmsg.NewOffsetForLeaderEpochResponseTopic()
		t.Topic = req.Topics[i].Topic
		for j := range req.Topics[i].Partitions {
			p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			p.Partition, p.ErrorCode = req.Topics[i].Partitions[j].Partition, codeNotLeader
			p.LeaderEpoch, p.EndOffset = -1, -1
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// refuseFindCoordinator answers a look-up of transaction coordinators; those of groups are answered without a broker.
func refuseFindCoordinator(req *kmsg.FindCoordinatorRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	c := noCoordinator(codeCoordinatorNotAvailable)
	text := errorText(c.code)
	if req.Version < 4 {
		resp.ErrorCode, resp.ErrorMessage, resp.NodeID, resp.Host, resp.Port = c.code, &text, c.id, c.host, c.port
		return resp
	}
	none := ""
	for _, key := range req.CoordinatorKeys {
		e := kmsg.NewFindCoordinatorResponseCoordinator()
		e.Key, e.ErrorCode, e.ErrorMessage, e.NodeID, e.Host, e.Port = key, c.code, &none, c.id, c.host, c.port
		resp.Coordinators = append(resp.Coordinators, e)
	}
	return resp
}

func refuseTransaction(msg kmsg.Request) (wire.Verdict, error) {
	resp := msg.ResponseKind()
	switch r := resp.(type) {
	case *kmsg.InitProducerIDResponse:
		r.ErrorCode, r.ProducerID, r.ProducerEpoch = codeCoordinatorLoading, -1, -1
	case *kmsg.AddOffsetsToTxnResponse:
		r.ErrorCode = codeCoordinatorLoading
	case *kmsg.EndTxnResponse:
		r.ErrorCode, r.ProducerID, r.ProducerEpoch = codeCoordinatorLoading, -1, -1
	case *kmsg.AddPartitionsToTxnResponse:
		req := msg.(*kmsg.AddPartitionsToTxnRequest)
		if req.Version > 3 {
			return wire.Verdict{}, errors.New("the form of this request that brokers use among themselves")
		}
		for i := range req.Topics {
			t := kmsg.NewAddPartitionsToTxnResponseTopic()
			t.Topic = req.Topics[i].Topic
			for _, partition := range req.Topics[i].Partitions {
				p := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				p.Partition, p.ErrorCode = partition, codeCoordinatorLoading
				t.Partitions = append(t.Partitions, p)
			}
			r.Topics = append(r.Topics, t)
		}
	default:
		return wire.Verdict{}, fmt.Errorf("api key %d: %w", msg.Key(), errNothingKnown)
	}
	return wire.Verdict{Resp: resp}, nil
}

// review leaves out of a list of groups those that another port's list has, so that a client that asks every broker and
// merges the answers sees each group once. Without a broker to stand for the coordinator, and on the bootstrap port, the
// list is whole.
func (l *link) review(resp *kmsg.ListGroupsResponse) {
	table := l.srv.dir.Table()
	if l.broker < 0 || len(table.IDs()) == 0 {
		return
	}
	kept := resp.Groups[:0]
	for _, g := range resp.Groups {
		if id, ok := table.Coordinator(g.Group); !ok || id == l.broker {
			kept = append(kept, g)
		}
	}
	resp.Groups = kept
}
