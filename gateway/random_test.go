package gateway

import (
	"math/rand/v2"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// random fills kmsg structs with what could stand in an answer.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 1))} }

// message fills resp and returns its encoding at a version.
func (r random) message(resp kmsg.Response, version int16) []byte {
	r.fill(reflect.ValueOf(resp).Elem())
	resp.SetVersion(version)
	return resp.AppendTo(nil)
}

func (r random) fill(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // The kinds that kmsg uses.
	case reflect.Struct:
		if tags, ok := reflect.TypeAssert[*kmsg.Tags](v.Addr()); ok {
			for range r.IntN(2) {
				tags.Set(uint32(100+r.IntN(10_000)), []byte(r.text()))
			}
			return
		}
		for _, field := range v.Fields() {
			r.fill(field)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(r.text()))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			r.fill(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			r.fill(v.Index(i))
		}
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem())
		}
	case reflect.String:
		v.SetString(r.text())
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		// Small, so that ids fall inside and outside the port range and on one another.
		v.SetInt(int64(r.IntN(40) - 2))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(r.IntN(40)))
	}
}

func (r random) text() string {
	b := make([]byte, r.IntN(12))
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}
