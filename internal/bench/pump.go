package main

import (
	"io"
	"net"
	"sync"
)

// pump is the least that stands between a client and a broker: it copies bytes both ways through a buffer and parses
// nothing. What it costs is the price of any process in the path.
type pump struct {
	listener net.Listener
	wg       sync.WaitGroup
}

const pumpBuffer = 64 << 10

func newPump(listen, to string) (*pump, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	p := &pump{listener: l}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { relay(c, to) })
		}
	})
	return p, nil
}

func (p *pump) close() {
	_ = p.listener.Close()
	p.wg.Wait()
}

func relay(c net.Conn, to string) {
	defer c.Close()
	u, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer u.Close()
	var wg sync.WaitGroup
	one := func(dst, src net.Conn) {
		// The bare reader and writer keep Go from splicing inside the kernel: a gateway has to see the bytes.
		_, _ = io.CopyBuffer(struct{ io.Writer }{dst}, struct{ io.Reader }{src}, make([]byte, pumpBuffer))
		_ = dst.Close()
		_ = src.Close()
	}
	wg.Go(func() { one(u, c) })
	one(c, u)
	wg.Wait()
}
