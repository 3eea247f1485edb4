package gateway_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rawFetch is an opaque request of key 1: the gateway reads only its header.
func rawFetch(corr int32, size int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(size))
	b = binary.BigEndian.AppendUint16(b, 1)
	b = binary.BigEndian.AppendUint16(b, 11)
	b = binary.BigEndian.AppendUint32(b, uint32(corr))
	b = binary.BigEndian.AppendUint16(b, 0xffff)
	return append(b, make([]byte, size-10)...)
}

// reportCPU reports the processor time of everybody who takes part, which says more than the clock on a busy machine.
func reportCPU(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// barePump copies bytes both ways and knows nothing of frames.
func barePump(b *testing.B, to string, buf int) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { ln.Close() })
	type plain struct{ io.Reader }
	type sink struct{ io.Writer }
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			u, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			pump := func(dst, src net.Conn) {
				if buf == 0 {
					_, _ = io.Copy(dst, src) // splice(2) where there is one
				} else {
					_, _ = io.CopyBuffer(sink{dst}, plain{src}, make([]byte, buf))
				}
				dst.Close()
			}
			go pump(u, c)
			go pump(c, u)
		}
	}()
	return ln.Addr().String()
}

// BenchmarkFetch moves fetch responses one after another, as a consumer does, directly, through bare pumps and through the
// gateway.
func BenchmarkFetch(b *testing.B) {
	for _, size := range []int{200, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20} {
		resp := make([]byte, 4+size)
		binary.BigEndian.PutUint32(resp, uint32(size))
		broker := newFakeBroker(b, func(nc net.Conn, f frame) bool {
			out := append([]byte(nil), resp[:8]...)
			binary.BigEndian.PutUint32(out[4:], uint32(f.h.Corr))
			bufs := net.Buffers{out, resp[8:]}
			_, err := bufs.WriteTo(nc)
			return err == nil
		})
		s := newStandAt(b, []string{broker.addr()}, 1, localFunc(echo), nil)
		for _, way := range []struct{ name, addr string }{
			{"direct", broker.addr()},
			{"pump64K", barePump(b, broker.addr(), 64<<10)},
			{"splice", barePump(b, broker.addr(), 0)},
			{"gateway", s.port(0)},
		} {
			b.Run(fmt.Sprintf("%s/%d", way.name, size), func(b *testing.B) {
				nc, err := net.Dial("tcp", way.addr)
				require.NoError(b, err)
				defer nc.Close()
				buf := make([]byte, 256<<10)
				b.SetBytes(int64(size))
				defer reportCPU(b)()
				for i := 0; b.Loop(); i++ {
					if _, err := nc.Write(rawFetch(int32(i), 100)); err != nil {
						b.Fatal(err)
					}
					for left := size + 4; left > 0; {
						n, err := nc.Read(buf[:min(len(buf), left)])
						if err != nil {
							b.Fatal(err)
						}
						left -= n
					}
				}
			})
		}
	}
}

// BenchmarkProduce sends requests of the size of a batch and waits for each small answer.
func BenchmarkProduce(b *testing.B) {
	broker := newFakeBroker(b, func(nc net.Conn, f frame) bool {
		respondBytes(nc, f, make([]byte, 40))
		return true
	})
	s := newStandAt(b, []string{broker.addr()}, 1, localFunc(echo), nil)
	for _, size := range []int{1 << 10, 16 << 10, 1 << 20} {
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks = 9, -1
		t := kmsg.NewProduceRequestTopic()
		t.Topic = "t"
		p := kmsg.NewProduceRequestTopicPartition()
		p.Records = make([]byte, size)
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		out := kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, req, 7)
		for _, way := range []struct{ name, addr string }{
			{"direct", broker.addr()},
			{"pump64K", barePump(b, broker.addr(), 64<<10)},
			{"gateway", s.port(0)},
		} {
			b.Run(fmt.Sprintf("%s/%d", way.name, size), func(b *testing.B) {
				nc, err := net.Dial("tcp", way.addr)
				require.NoError(b, err)
				defer nc.Close()
				b.SetBytes(int64(len(out)))
				defer reportCPU(b)()
				var answer [49]byte
				for b.Loop() {
					if _, err := nc.Write(out); err != nil {
						b.Fatal(err)
					}
					if _, err := io.ReadFull(nc, answer[:]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
