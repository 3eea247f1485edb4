package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkOwn sends heartbeats and commits to a Local that answers at once: the cost of a request that the broker never
// sees, without the coordinator.
func BenchmarkOwn(b *testing.B) {
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group, commit.MemberID = 8, "group", "member"
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "topic"
	for i := range int32(10) {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition = i
		topic.Partitions = append(topic.Partitions, p)
	}
	commit.Topics = append(commit.Topics, topic)
	for name, frame := range map[string][]byte{"heartbeat": heartbeat(1), "commit": request(1, commit)} {
		for _, inFlight := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", name, inFlight), func(b *testing.B) {
				client, server := tcpPair(b)
				cfg := Config{}.Defaults()
				c := NewConn(&cfg, server, 0, newFakeUp(), answerer{})
				end := make(chan error, 1)
				go func() { end <- c.Run() }()
				burst := bytes.Repeat(frame, inFlight)
				buf := make([]byte, 64<<10)
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if n%inFlight != 0 {
						continue
					}
					if _, err := client.Write(burst); err != nil {
						b.Fatal(err)
					}
					for range inFlight {
						if _, err := io.ReadFull(client, buf[:4]); err != nil {
							b.Fatal(err)
						}
						if _, err := io.ReadFull(client, buf[:binary.BigEndian.Uint32(buf)]); err != nil {
							b.Fatal(err)
						}
					}
				}
				client.Close()
				<-end
			})
		}
	}
}

type answerer struct{}

func (answerer) Serve(r *Request) { answer(r) }
