package gateway

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

func (l *link) flushClient() error { return l.client.Flush() }

// Receive implements wire.Upstream. The wait for a response to begin has no bound, as a fetch or a transaction may take
// its time; its rest must keep coming.
func (l *link) Receive(s wire.Slot, w *wire.Writer) error {
	l.client = w
	l.rd.SetTimeout(0)
	b, err := l.rd.Peek(8)
	if err != nil {
		return fmt.Errorf("the broker at %v did not answer: %w", l.nc.RemoteAddr(), err)
	}
	size := int32(binary.BigEndian.Uint32(b))
	if err := wire.CheckResponseSize(size); err != nil {
		return fmt.Errorf("the response of the broker at %v: %w", l.nc.RemoteAddr(), err)
	}
	if corr := int32(binary.BigEndian.Uint32(b[4:])); corr != s.Corr {
		return fmt.Errorf("the broker at %v answered request %d where %d was next", l.nc.RemoteAddr(), corr, s.Corr)
	}
	l.rd.SetTimeout(l.srv.wire.ProgressTimeout)
	if l.edits(s) {
		err = l.edit(s, int(size), w)
	} else {
		err = w.Stream(l.rd, int(size)+4)
	}
	l.pending.Add(-1)
	return err
}

// edits says whether a response is read whole, to be changed or learned from.
func (l *link) edits(s wire.Slot) bool {
	switch s.Key {
	case keyAPIVersions:
		return true
	case keySASLHandshake, keySASLAuthenticate:
		return l.login != nil
	}
	return NeedsRewrite(s.Key, s.Version)
}

// edit reads a response of size bytes whole and passes on what becomes of it.
func (l *link) edit(s wire.Slot, size int, w *wire.Writer) error {
	if size > int(l.srv.cfg.MaxEditedBytes) {
		return fmt.Errorf("the broker's %s response of %d bytes is larger than %d, and addresses in it must be changed",
			kmsg.NameForKey(s.Key), size, l.srv.cfg.MaxEditedBytes)
	}
	frame, err := l.whole(s, size)
	if err != nil {
		return fmt.Errorf("the broker's response broke off: %w", err)
	}
	body, err := wire.SplitResponse(s, frame)
	if err != nil {
		return err
	}
	switch s.Key {
	case keyAPIVersions:
		body, err = l.srv.dir.EditAPIVersions(s.Version, body, l.answering())
	case keySASLHandshake, keySASLAuthenticate:
		body, err = l.login.learn(s, body)
	default:
		body, err = l.srv.dir.Rewrite(s.Key, s.Version, body)
	}
	if err != nil {
		return err
	}
	return w.WriteResponse(s, body) // a copy
}

// whole consumes a response and returns it without its length prefix. That of a Produce, of which there are many, almost
// always small and without an address, is looked at where it lies; it is valid until the next read.
func (l *link) whole(s wire.Slot, size int) ([]byte, error) {
	if s.Key == keyProduce && size <= maxInPlace {
		b, err := l.rd.Peek(4 + size)
		if err != nil {
			return nil, err
		}
		l.rd.Discard(4 + size)
		return b[4 : 4+size], nil
	}
	l.rd.Discard(4)
	return l.rd.ReadFull(nil, size)
}

const maxInPlace = 32 << 10

// answering is the id of the broker at the other end, -1 if it is not known.
func (l *link) answering() int32 {
	if l.standIn {
		return -1
	}
	return l.broker
}
