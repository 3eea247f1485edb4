package wire

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	errNoAnswer = errors.New("the request has no answer")
	errCut      = errors.New("it ends too early, or a length in it is wrong")
)

// unsafeReader is the form of decoding in which strings alias the bytes they were read from.
type unsafeReader interface {
	UnsafeReadFrom(src []byte) error
}

// Decode reads the body of a request of a key and version of the tables; the result aliases body. The range of versions
// is checked first: kmsg would read a newer one with the newest layout that it knows.
func Decode(key, version int16, body []byte) (kmsg.Request, error) {
	msg := kmsg.RequestForKey(key)
	if msg == nil || version < 0 || version > msg.MaxVersion() {
		return nil, fmt.Errorf("api key %d is not known in version %d", key, version)
	}
	if r, ok := OwnVersions(key); ok && (version < r.Min || version > r.Max) {
		return nil, fmt.Errorf("api key %d is not served in version %d", key, version)
	}
	msg.SetVersion(version)
	var err error
	if u, ok := msg.(unsafeReader); ok {
		err = u.UnsafeReadFrom(body)
	} else {
		err = msg.ReadFrom(body)
	}
	if err == nil {
		err = checkNulls(msg, body)
	}
	if errors.Is(err, kbin.ErrNotEnoughData) {
		err = errCut
	}
	if err != nil {
		return nil, fmt.Errorf("%s request, version %d, of %d bytes: %w", kmsg.NameForKey(key), version, len(body), err)
	}
	return msg, nil
}
