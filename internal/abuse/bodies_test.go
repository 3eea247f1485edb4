package abuse

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// own lists the APIs that the daemon answers itself, with the versions that Kafka 4.4 has.
var own = []struct{ key, lo, hi int16 }{
	{8, 2, 10},
	{9, 1, 10},
	{10, 0, 6},
	{11, 0, 9},
	{12, 0, 4},
	{13, 0, 5},
	{14, 0, 5},
	{15, 0, 6},
	{16, 0, 5},
	{42, 0, 3},
	{47, 0, 0},
}

// fill gives every field a value and every list one element. The texts name nothing that exists.
func fill(v reflect.Value) {
	switch k := v.Kind(); {
	case k == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case k == reflect.Struct:
		for i := range v.NumField() {
			if n := v.Type().Field(i).Name; n != "Version" && n != "UnknownTags" {
				fill(v.Field(i))
			}
		}
	case k == reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{1, 2})
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case k == reflect.String:
		v.SetString("ab")
	case v.CanInt():
		v.SetInt(1)
	}
}

// eachOwn calls f with a whole body of each version of each own API.
func eachOwn(f func(req kmsg.Request, body []byte)) {
	for _, o := range own {
		for v := o.lo; v <= o.hi; v++ {
			req := kmsg.RequestForKey(o.key)
			fill(reflect.ValueOf(req).Elem())
			req.SetVersion(v)
			f(req, req.AppendTo(nil))
		}
	}
}

// TestBodiesCutShort: every own API in every version, cut at every byte, closes the connection as Kafka does.
func TestBodiesCutShort(t *testing.T) {
	d := startDev(t)
	s := startSteady(t, d.Bootstrap)
	eachOwn(func(req kmsg.Request, body []byte) {
		for n := range body {
			got := exchange(t, d.Bootstrap, frame(req.Key(), req.GetVersion(), req.IsFlexible(), body[:n]))
			require.True(t, got.closed, "%s version %d, %d of %d bytes, was answered: % x",
				kmsg.NameForKey(req.Key()), req.GetVersion(), n, len(body), got.answer)
		}
	})
	s.undisturbed(t)
	d.stop(t)
}

// TestMillionsOfElements: every byte position of every own request in turn says that millions of things follow. Neither
// that nor a length of -1 makes the daemon hang, grow or fall over.
func TestMillionsOfElements(t *testing.T) {
	d := startDev(t)
	s := startSteady(t, d.Bootstrap)
	before, _, err := d.Resident()
	require.NoError(t, err)
	for _, length := range [][]byte{
		binary.BigEndian.AppendUint32(nil, 1_000_000),
		binary.BigEndian.AppendUint32(nil, 1<<31-1),
		binary.AppendUvarint(nil, 1<<32-1),
	} {
		eachOwn(func(req kmsg.Request, body []byte) {
			if req.Key() == int16(kmsg.JoinGroup) {
				return // a number elsewhere makes a valid join, which waits
			}
			for n := 0; n < len(body); n += 2 {
				b := append(append([]byte(nil), body[:n]...), length...)
				b = append(b, body[min(n+4, len(body)):]...)
				exchange(t, d.Bootstrap, frame(req.Key(), req.GetVersion(), req.IsFlexible(), b))
			}
		})
	}
	after, _, err := d.Resident()
	require.NoError(t, err)
	require.Less(t, after-before, int64(64<<20), "bytes of memory")
	s.undisturbed(t)
	d.stop(t)
}
