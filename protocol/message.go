package protocol

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/coordinatord/coordinatord/group"
)

// message is the text that stands beside a code in the versions that have one.
func message(code group.Code) string {
	if e := kerr.TypedErrorForCode(int16(code)); e != nil {
		return e.Description
	}
	return ""
}
