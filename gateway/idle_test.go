package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const idleClients = "GATEWAY_TEST_IDLE_CLIENTS" // "address count": be the clients of TestIdleConnectionsAreCheap

// holdClients opens connections that are used once and then idle, until standard input ends. It runs in a process of its
// own, so that only the gateway's side is measured and one process needs half the descriptors.
func holdClients(spec string) {
	addr, n, _ := strings.Cut(spec, " ")
	count, err := strconv.Atoi(n)
	if err != nil {
		panic(err)
	}
	hb := kmsg.NewRequestFormatter(kmsg.FormatterClientID("idle")).AppendRequest(nil, newHeartbeat(), 1)
	meta := kmsg.NewRequestFormatter(kmsg.FormatterClientID("idle")).AppendRequest(nil, newAPIVersions(3), 2)
	var conns []net.Conn
	for range count {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			panic(err)
		}
		conns = append(conns, nc)
		if _, err := nc.Write(append(append([]byte(nil), meta...), hb...)); err != nil {
			panic(err)
		}
		r := bufio.NewReaderSize(nc, 16<<10)
		for range 2 {
			var size [4]byte
			if _, err := io.ReadFull(r, size[:]); err != nil {
				panic(err)
			}
			if _, err := r.Discard(int(size[2])<<8 | int(size[3])); err != nil {
				panic(err)
			}
		}
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, nc := range conns {
		_ = nc.Close()
	}
}

func memory() (inUse uint64) {
	runtime.GC()
	runtime.GC() // the second one empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// TestIdleConnectionsAreCheap: 10,000 connections that have been used and wait cost at most 32 KiB each, and no connection
// to a broker.
func TestIdleConnectionsAreCheap(t *testing.T) {
	const count, limit = 10_000, 32 << 10
	broker := newFakeBroker(t, nil)
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), nil)
	waitForVersions(t, s)
	before, dialled := memory(), broker.accepted()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", idleClients, s.port(0), count))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "open\n", line)
	each := (memory() - before) / count
	t.Logf("%d bytes for each of %d idle connections", each, count)
	require.Less(t, each, uint64(limit))
	require.LessOrEqual(t, broker.accepted(), dialled+1, "idle connections have dialled the broker")

	// One more client is served as if the others were not there.
	c := dialRaw(t, s.port(0))
	start := time.Now()
	c.ask(1, newHeartbeat())
	require.Less(t, time.Since(start), 5*time.Second)

	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
}
