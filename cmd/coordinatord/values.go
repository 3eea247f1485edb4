package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/coordinatord/coordinatord/gateway"
	"github.com/coordinatord/coordinatord/internal/daemon"
)

// unitValue is a duration that is written as a whole number of its unit, as Kafka's settings are.
type unitValue struct {
	d    *time.Duration
	unit time.Duration
}

func (v *unitValue) String() string {
	if v.d == nil {
		return "0"
	}
	return strconv.FormatInt(int64(*v.d/v.unit), 10)
}

func (v *unitValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return errors.New("it is a whole number, the unit is part of the name")
	}
	if n > math.MaxInt64/int64(v.unit) || n < math.MinInt64/int64(v.unit) {
		return errors.New("it is out of range")
	}
	*v.d = time.Duration(n) * v.unit
	return nil
}

func (v *unitValue) Type() string { return "int" }

// portsValue is first-last.
type portsValue struct{ r *daemon.PortRange }

func (v *portsValue) String() string {
	if v.r == nil {
		return ""
	}
	return v.r.String()
}

func (v *portsValue) Set(s string) error {
	first, last, ok := strings.Cut(s, "-")
	f, err1 := strconv.ParseUint(strings.TrimSpace(first), 10, 16)
	l, err2 := strconv.ParseUint(strings.TrimSpace(last), 10, 16)
	if !ok || err1 != nil || err2 != nil || f == 0 || l < f {
		return errors.New("it is first-last with ports between 1 and 65535, such as 9193-9224")
	}
	*v.r = daemon.PortRange{First: uint16(f), Last: uint16(l)}
	return nil
}

func (v *portsValue) Type() string { return "ports" }

// hostsValue is host:port,... .
type hostsValue struct{ hosts *[]string }

func (v *hostsValue) String() string {
	if v.hosts == nil {
		return ""
	}
	return strings.Join(*v.hosts, ",")
}

func (v *hostsValue) Set(s string) error {
	var hosts []string
	for h := range strings.SplitSeq(s, ",") {
		h = strings.TrimSpace(h)
		if err := checkHostPort(h); err != nil {
			return err
		}
		hosts = append(hosts, h)
	}
	*v.hosts = hosts
	return nil
}

func (v *hostsValue) Type() string { return "addresses" }

func checkHostPort(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" {
		return fmt.Errorf("%q is not host:port", s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q has no port between 1 and 65535", s)
	}
	return nil
}

// peersValue is id@host:port,... .
type peersValue struct{ peers *[]daemon.Peer }

func (v *peersValue) String() string {
	if v.peers == nil {
		return ""
	}
	parts := make([]string, len(*v.peers))
	for i, p := range *v.peers {
		parts[i] = fmt.Sprintf("%d@%s", p.ID, p.Addr)
	}
	return strings.Join(parts, ",")
}

func (v *peersValue) Set(s string) error {
	var peers []daemon.Peer
	if strings.TrimSpace(s) != "" {
		for part := range strings.SplitSeq(s, ",") {
			id, addr, ok := strings.Cut(strings.TrimSpace(part), "@")
			n, err := strconv.ParseUint(id, 10, 64)
			if !ok || err != nil || n == 0 {
				return fmt.Errorf("%q is not id@host:port with an id of at least 1", part)
			}
			if err := checkHostPort(addr); err != nil {
				return err
			}
			peers = append(peers, daemon.Peer{ID: n, Addr: addr})
		}
	}
	*v.peers = peers
	return nil
}

func (v *peersValue) Type() string { return "voters" }

// maxPartitions bounds what one --topics entry asks of the in-process Kafka.
const maxPartitions = 10_000

// topicsValue is name:partitions,...; several uses add up.
type topicsValue struct{ topics *[]daemon.TopicSpec }

func (v *topicsValue) String() string {
	if v.topics == nil {
		return ""
	}
	parts := make([]string, len(*v.topics))
	for i, t := range *v.topics {
		parts[i] = fmt.Sprintf("%s:%d", t.Name, t.Partitions)
	}
	return strings.Join(parts, ",")
}

func (v *topicsValue) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		name, count, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok || name == "" {
			return fmt.Errorf("%q is not name:partitions", part)
		}
		if !gateway.LegalTopic(name) {
			return fmt.Errorf("%q is no name that Kafka takes: up to 249 letters, digits, dots, underscores and dashes", name)
		}
		n, err := strconv.ParseInt(count, 10, 32)
		if err != nil || n < 1 || n > maxPartitions {
			return fmt.Errorf("%q: partitions are a number from 1 to %d", part, maxPartitions)
		}
		for _, t := range *v.topics {
			if t.Name == name {
				return fmt.Errorf("topic %q is named twice", name)
			}
		}
		*v.topics = append(*v.topics, daemon.TopicSpec{Name: name, Partitions: int32(n)})
	}
	return nil
}

func (v *topicsValue) Type() string { return "topics" }
