package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Source makes the frames of one connection.
type Source interface {
	// Next returns the next frame with its length, with the correlation id patched in; it is valid until the next call.
	Next(corr int32) []byte
	// Answered checks an answer (without its length) to the frame with this correlation id.
	Answered(corr int32, answer []byte) error
}

// Result sums up a run.
type Result struct {
	Requests int
	Took     time.Duration
	Latency  Latencies
}

// PerSecond returns answered requests per second.
func (r Result) PerSecond() float64 { return float64(r.Requests) / r.Took.Seconds() }

// Closed runs one closed loop for each source, each over its own connection with inFlight requests under way, until d has
// passed; the first error ends it.
func Closed(ctx context.Context, addr string, sources []Source, inFlight int, d time.Duration) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	loops := make([]*loop, len(sources))
	for i, s := range sources {
		c, err := Dial(addr)
		if err != nil {
			return Result{}, err
		}
		defer c.Close()
		loops[i] = &loop{conn: c, source: s, window: make(chan struct{}, inFlight), sent: make(chan time.Time, inFlight)}
	}
	start := time.Now()
	errs := make([]error, len(loops))
	var wg sync.WaitGroup
	for i, l := range loops {
		wg.Go(func() { errs[i] = l.run(ctx) })
	}
	wg.Wait()
	res := Result{Took: time.Since(start)}
	for _, l := range loops {
		res.Requests += l.answers
		res.Latency.Add(&l.latency)
	}
	return res, errors.Join(errs...)
}

// loop is one connection's closed loop: the writer takes a place in the window, the reader gives it back.
type loop struct {
	conn    *Conn
	source  Source
	window  chan struct{}
	sent    chan time.Time
	answers int
	latency Latencies
}

func (l *loop) run(ctx context.Context) error {
	var wg sync.WaitGroup
	var readErr error
	wg.Go(func() { readErr = l.read() })
	writeErr := l.write(ctx)
	close(l.sent)
	wg.Wait()
	return errors.Join(writeErr, readErr)
}

func (l *loop) write(ctx context.Context) error {
	var out []byte
	for corr := int32(0); ; corr++ {
		select {
		case l.window <- struct{}{}:
		default: // the window is full: what is ready leaves now
			if err := l.flush(&out); err != nil {
				return err
			}
			select {
			case l.window <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
		}
		if ctx.Err() != nil {
			<-l.window
			return l.flush(&out)
		}
		out = append(out, l.source.Next(corr)...)
		l.sent <- time.Now()
	}
}

func (l *loop) flush(out *[]byte) error {
	if len(*out) == 0 {
		return nil
	}
	_, err := l.conn.Write(*out)
	*out = (*out)[:0]
	return err
}

func (l *loop) read() error {
	var buf []byte
	corr := int32(0)
	for at := range l.sent {
		if l.conn.r.Buffered() == 0 {
			if err := l.conn.SetReadDeadline(time.Now().Add(answerTimeout)); err != nil {
				return err
			}
		}
		answer, err := l.conn.frame(buf)
		if err != nil {
			return l.fail(err)
		}
		buf = answer
		if got := int32(binary.BigEndian.Uint32(answer)); got != corr {
			return l.fail(fmt.Errorf("answer %d, expected %d", got, corr))
		}
		if err := l.source.Answered(corr, answer); err != nil {
			return l.fail(err)
		}
		l.latency.Record(time.Since(at))
		l.answers++
		corr++
		<-l.window
	}
	return nil
}

// fail closes the connection, so that the writer ends too, and lets it pass the window meanwhile.
func (l *loop) fail(err error) error {
	_ = l.conn.Close()
	go func() {
		for range l.window {
		}
	}()
	for range l.sent {
	}
	return err
}

// Patched is a Source that sends the same frames in turn, with changed correlation ids and numbers.
type Patched struct {
	frames  [][]byte
	offsets [][]int // where each frame holds an int64 that grows
	want    [][]byte
	value   int64
	req     kmsg.Request
	check   func(kmsg.Response) error
}

// correlation is where a frame holds its correlation id: behind length, key and version.
const correlation = 8

// NewPatched encodes the requests, which are of one kind and version. marker, where it is not zero, is the number in them
// that is replaced by a growing one. check judges the first answer to each request; later ones must be equal to it.
func NewPatched(reqs []kmsg.Request, marker int64, check func(kmsg.Response) error) *Patched {
	p := &Patched{req: reqs[0], check: check, want: make([][]byte, len(reqs))}
	for _, req := range reqs {
		f := Frame(req, 0)
		var at []int
		if marker != 0 {
			var m [8]byte
			binary.BigEndian.PutUint64(m[:], uint64(marker))
			for from := 0; ; {
				i := bytes.Index(f[from:], m[:])
				if i < 0 {
					break
				}
				at = append(at, from+i)
				from += i + 8
			}
		}
		p.frames, p.offsets = append(p.frames, f), append(p.offsets, at)
	}
	return p
}

// Next implements [Source].
func (p *Patched) Next(corr int32) []byte {
	i := int(corr) % len(p.frames)
	f := p.frames[i]
	binary.BigEndian.PutUint32(f[correlation:], uint32(corr))
	p.value++
	for _, at := range p.offsets[i] {
		binary.BigEndian.PutUint64(f[at:], uint64(p.value))
	}
	return f
}

// Answered implements [Source].
func (p *Patched) Answered(corr int32, answer []byte) error {
	i := int(corr) % len(p.frames)
	if p.want[i] != nil && bytes.Equal(p.want[i], answer[4:]) {
		return nil
	}
	resp, err := decode(p.req, answer)
	if err != nil {
		return err
	}
	if err := p.check(resp); err != nil {
		return err
	}
	p.want[i] = bytes.Clone(answer[4:])
	return nil
}

var _ net.Conn = (*Conn)(nil)
