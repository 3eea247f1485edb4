package realkafka

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Ports are loopback TCP ports reserved for this process: no other process
// that reserves through this package gets them until Release, even while
// nothing listens on them, so a server may be killed and started again on its
// port. They lie below the kernel's ephemeral range, or an outgoing connection
// could take a port in between.
type Ports struct {
	Numbers []int
	locks   []*os.File
}

const (
	firstPort = 15000
	lastPort  = 31999
)

// ReservePorts reserves n ports that follow one another: callers that need a
// contiguous range get one, the others do not mind.
func ReservePorts(n int) (*Ports, error) {
	dir := filepath.Join(os.TempDir(), "coordinatord-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("realkafka: %w", err)
	}
	for range 200 {
		p := &Ports{}
		start := firstPort + rand.IntN(lastPort-firstPort-n)
		ok := true
		for port := start; port < start+n && ok; port++ {
			ok = p.take(dir, port)
		}
		if ok {
			return p, nil
		}
		p.Release()
	}
	return nil, errors.New("realkafka: no free ports on loopback")
}

// Release gives the ports back. It may be called twice.
func (p *Ports) Release() {
	for _, f := range p.locks {
		_ = f.Close()
	}
	p.locks = nil
}

func (p *Ports) take(dir string, port int) bool {
	f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return false
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return false
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		_ = f.Close()
		return false
	}
	_ = l.Close()
	p.Numbers = append(p.Numbers, port)
	p.locks = append(p.locks, f)
	return true
}
