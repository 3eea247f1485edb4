package differential

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// findSequences are those of FindCoordinator and ApiVersions.
func findSequences(add adder) {
	for _, e := range eras(0, 6) {
		at := func(name string) string { return fmt.Sprintf("find/%s/v%d", name, e) }
		find := func(c *Conn, kind int8, keys ...string) *Call {
			r := kmsg.NewPtrFindCoordinatorRequest()
			r.Version, r.CoordinatorType = int16(e), kind
			r.CoordinatorKeys = keys
			if len(keys) > 0 {
				r.CoordinatorKey = keys[0]
			}
			return c.Send(r)
		}
		add(at("group"), "1.6 1.7 1.8 2.8 2.6 2.7", only(keyFindCoordinator), func(s *Script) {
			g := s.Group("g", e)
			boot := s.dial(s.target.Bootstrap, "boot", new("boot"))
			c := s.Conn("c")
			for _, x := range []*Conn{boot, c} {
				find(x, 0, g.ID).Want(0)
				find(x, 0, "").Want(0)
			}
			if e >= 4 {
				find(c, 0, g.ID, "", g.ID, "another").Answer()
				find(c, 0).Answer()
			}
			g.List(c)
		})
		if e >= 1 {
			add(at("unknown kinds"), "1.6 1.8 2.7", only(keyFindCoordinator), func(s *Script) {
				g := s.Group("g", e)
				c := s.Conn("c")
				for _, kind := range []int8{3, 99, -1} {
					find(c, kind, g.ID, "another").Answer()
				}
				if e < 6 {
					find(c, 2, g.ID).Answer()
				}
			})
			add(at("transactions"), "1.6 1.7 2.7", only(keyFindCoordinator), func(s *Script) {
				c := s.Conn("c")
				// The first question creates the internal topic.
				s.transactions()
				find(c, 1, "some transaction").Answer()
				if e >= 4 {
					find(c, 1, "some transaction", "another", "some transaction").Answer()
				}
			})
		}
	}
	for v := int16(0); v <= 5; v++ {
		add(fmt.Sprintf("versions/own apis/v%d", v), "1.1 1.3 1.4 1.5 9.T17", only(keyAPIVersions), func(s *Script) {
			r := kmsg.NewPtrApiVersionsRequest()
			r.Version, r.ClientSoftwareName, r.ClientSoftwareVersion = v, "differential", "1.0"
			s.Conn("c").Send(r).Want(0)
			s.dial(s.target.Bootstrap, "boot", new("boot")).Send(r).Want(0)
		})
	}
	for v := int16(3); v <= 5; v++ {
		add(fmt.Sprintf("versions/bad software names/v%d", v), "1.2", only(keyAPIVersions), func(s *Script) {
			for i, name := range []string{"", "-x", "a b", "ok", "x-"} {
				c := s.Conn(fmt.Sprint("c", i))
				r := kmsg.NewPtrApiVersionsRequest()
				r.Version, r.ClientSoftwareName, r.ClientSoftwareVersion = v, name, "1.0"
				c.Send(r).Settle(patience)
				r.ClientSoftwareName, r.ClientSoftwareVersion = "ok", name
				c.Send(r).Settle(patience)
			}
		})
	}
	add("versions/identity/v5", "1.2", only(keyAPIVersions), func(s *Script) {
		ask := func(cluster *string, node int32) {
			r := kmsg.NewPtrApiVersionsRequest()
			r.Version, r.ClientSoftwareName, r.ClientSoftwareVersion = 5, "differential", "1.0"
			r.ClusterID, r.NodeID = cluster, node
			s.Conn("c").Send(r).Settle(patience)
		}
		id := s.target.ClusterID
		ask(nil, -1)
		ask(&id, 1)
		ask(&id, 2)
		ask(&id, -1)
		ask(nil, 1)
		ask(new("another cluster"), 1)
		ask(new(""), 1)
	})
	for _, v := range []int16{6, 7, 100, 32767, -1} {
		add(fmt.Sprintf("versions/unsupported %d", v), "1.2", only(keyAPIVersions), func(s *Script) {
			c := s.Conn("c")
			c.SendRaw(keyAPIVersions, v, true, []byte{1, 1, 0}).Settle(patience)
			r := kmsg.NewPtrApiVersionsRequest()
			r.Version = 0
			c.Send(r).Settle(patience)
		})
	}
}

// hiddenSequences are those of the APIs that Kafka serves and the daemon does not yet.
func hiddenSequences(add adder) {
	for _, key := range []int16{28, 68, 69, 76, 77, 88, 89} {
		add(fmt.Sprintf("hidden/%s", apiName(key)), "1.20 1.21", nil, func(s *Script) {
			r := kmsg.NewPtrApiVersionsRequest()
			r.Version, r.ClientSoftwareName, r.ClientSoftwareVersion = 3, "differential", "1.0"
			listed := "hidden"
			var newest int16
			for _, k := range s.ask(r).(*kmsg.ApiVersionsResponse).ApiKeys {
				if k.ApiKey == key {
					listed, newest = "listed", k.MaxVersion
				}
			}
			s.DivergesAs("D5", "ApiVersions", "listed", "hidden", listed)
			req := kmsg.RequestForKey(key)
			req.SetVersion(min(newest, req.MaxVersion()))
			call := s.Conn("c").Send(req)
			select {
			case <-call.done:
			case <-time.After(patience):
			}
			seen := "answered"
			if call.closed {
				seen = "closed"
			}
			s.DivergesAs("D5", "the request itself", "answered", "closed", seen)
			s.alive()
		})
	}
}

// closeSequences are those that end with a closed connection: versions and keys that are not served, broken bodies.
func closeSequences(add adder) {
	for _, key := range apiOrder {
		if key == keyAPIVersions {
			continue
		}
		r := versions[key]
		outside := []int16{r[0] - 1, r[1] + 1, 999, -1}
		if r[0] == 0 {
			outside = outside[1:]
		}
		for _, v := range outside {
			add(fmt.Sprintf("closed/%s version %d", apiName(key), v), "1.2 1.14 1.15", only(key), func(s *Script) {
				c := s.Conn("c")
				req := kmsg.RequestForKey(key)
				req.SetVersion(max(0, min(v, req.MaxVersion())))
				c.SendRaw(key, v, req.IsFlexible(), req.AppendTo(nil)).WantClosed()
				s.alive()
			})
		}
		for v := r[0]; v <= r[1]; v++ {
			add(fmt.Sprintf("broken/%s/v%d", apiName(key), v), "1.1", only(key), func(s *Script) {
				req := kmsg.RequestForKey(key)
				req.SetVersion(v)
				flexible := req.IsFlexible()
				whole := req.AppendTo(nil)
				// Nothing at all, the last byte missing, a huge length in front, a negative one.
				s.Conn("nothing").SendRaw(key, v, flexible, nil).Settle(patience)
				s.Conn("short").SendRaw(key, v, flexible, whole[:max(0, len(whole)-1)]).Settle(patience)
				s.Conn("huge").SendRaw(key, v, flexible, append([]byte{0x7f, 0xff, 0xff, 0xff}, whole...)).Settle(patience)
				s.Conn("negative").SendRaw(key, v, flexible, append([]byte{0xff, 0xff, 0xff, 0xfe}, whole...)).Settle(patience)
				s.alive()
			})
		}
	}
	for _, key := range []int16{999, -1, 32767, 200} {
		add(fmt.Sprintf("closed/key %d", key), "1.2", nil, func(s *Script) {
			s.Conn("c").SendRaw(key, 0, false, []byte{0, 0}).WantClosed()
			s.alive()
		})
	}
}

// alive shows that the target still serves others.
func (s *Script) alive() {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID = 4, s.prefix, "x"
	s.Conn("after").Send(r).Want(25)
}

// transactions waits, unrecorded, until the transaction coordinator is there.
func (s *Script) transactions() {
	r := kmsg.NewPtrFindCoordinatorRequest()
	r.Version, r.CoordinatorType, r.CoordinatorKey = 1, 1, "some transaction"
	s.until("a transaction coordinator", func() bool {
		resp, err := roundTrip(s.target.Bootstrap, r)
		return err == nil && resp.(*kmsg.FindCoordinatorResponse).ErrorCode == 0
	})
}
