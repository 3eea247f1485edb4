package gateway

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

// addressFields says what becomes of every field of an answer that looks like an address. A newer kmsg that knows of more
// makes the test fail: somebody has to read the KIP and decide.
var addressFields = map[string]string{
	"0 Brokers.Host":  "rewritten",
	"0 Brokers.Port":  "rewritten",
	"1 Brokers.Host":  "rewritten",
	"1 Brokers.Port":  "rewritten",
	"3 Brokers.Host":  "rewritten",
	"3 Brokers.Port":  "rewritten",
	"10 Host":         "rewritten",
	"10 Port":         "rewritten",
	"60 EndpointType": "no broker", // Whether brokers or controllers are described.
	"60 Brokers.Host": "rewritten",
	"60 Brokers.Port": "rewritten",

	"10 Coordinators.Host":         "rewritten",
	"10 Coordinators.Port":         "rewritten",
	"55 Nodes.Listeners":           "rewritten",
	"55 Nodes.Listeners.Host":      "rewritten",
	"55 Nodes.Listeners.Port":      "rewritten",
	"15 Groups.Members.ClientHost": "own",       // Where the member's connection comes from.
	"29 Resources.ACLs.Host":       "no broker", // The client host that an ACL is about.
	"31 Results.MatchingACLs.Host": "no broker",
}

var looksLikeAddress = regexp.MustCompile(`(?i)host|port$|endpoint|listener|address`)

// TestEveryAddressIsKnown walks over all answers that kmsg knows.
func TestEveryAddressIsKnown(t *testing.T) {
	var found []string
	for key := range int16(kmsg.MaxKey + 1) {
		resp := kmsg.ResponseForKey(key)
		if resp == nil || wire.ClassOf(key) == wire.Hidden {
			continue
		}
		walkFields(reflect.TypeOf(resp).Elem(), nil, func(path []string) {
			if looksLikeAddress.MatchString(path[len(path)-1]) {
				found = append(found, fmt.Sprintf("%d %s", key, strings.Join(path, ".")))
			}
		})
	}
	slices.Sort(found)
	for _, f := range found {
		what, ok := addressFields[f]
		require.True(t, ok, "an answer with an address that nobody decided upon: %s", f)
		var key int16
		_, err := fmt.Sscan(f, &key)
		require.NoError(t, err)
		switch what {
		case "rewritten":
			newest := kmsg.ResponseForKey(key).MaxVersion()
			require.True(t, NeedsRewrite(key, newest), f)
		case "own":
			require.Equal(t, wire.Own, wire.ClassOf(key), f)
		}
	}
	for f := range addressFields {
		require.Contains(t, found, f, "it is not there any more")
	}
}

// walkFields calls leaf with the path of every field that is not a struct.
func walkFields(typ reflect.Type, path []string, leaf func(path []string)) {
	for f := range typ.Fields() {
		at := append(slices.Clone(path), f.Name)
		ft := f.Type
		for ft.Kind() == reflect.Slice || ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if f.Name == "UnknownTags" {
			continue
		}
		if ft.Kind() == reflect.Struct {
			walkFields(ft, at, leaf)
		}
		leaf(at)
	}
}

// TestDecodedVersionsAreThoseOfKmsg fails when kmsg learns a newer version of an answer that is looked into. Read what it
// adds, look for addresses, then raise the number in decodedAPIs.
func TestDecodedVersionsAreThoseOfKmsg(t *testing.T) {
	for key, version := range decodedAPIs {
		require.Equal(t, kmsg.RequestForKey(key).MaxVersion(), version, kmsg.NameForKey(key))
	}
	for _, own := range wire.OwnKeys() {
		require.Equal(t, kmsg.RequestForKey(own.Key).MaxVersion(), own.Max, kmsg.NameForKey(own.Key))
	}
}
