package gateway

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/wire"
)

// checkTimeout bounds one dial with its question.
const checkTimeout = 5 * time.Second

// Finding is one sentence of Check.
type Finding struct {
	OK   bool
	Text string
}

// Check looks at everything that has to be reachable: the seeds, the address of every broker as the brokers name it, and
// what clients are told instead, which must be the daemon and not a broker. bootstrap is the advertised bootstrap address
// (host:port); empty skips it. The daemon that is checked must be running, and the result holds for the machine that Check
// runs on. Problems of the configuration itself are findings, too.
func Check(ctx context.Context, cfg DirectoryConfig, bootstrap string, log *zap.Logger) []Finding {
	c := checker{}
	d, err := NewDirectory(cfg, log)
	if err != nil {
		c.bad("The configuration is wrong: %v.", err)
		return c.findings
	}
	defer d.Close()
	for _, seed := range cfg.Seeds {
		if _, err := askVersions(ctx, seed, "", -1); err != nil {
			c.bad("The seed %s does not answer as a Kafka broker: %v.", seed, err)
		} else {
			c.good("The seed %s answers.", seed)
		}
	}
	if _, err := d.refreshBrokers(ctx); err != nil {
		c.bad("The daemon's own client fails: %v.", err)
		return c.findings
	}
	table := d.Table()
	ids := make([]int32, 0, len(table.brokers))
	for id := range table.brokers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	c.good("The Kafka cluster is %q; its live brokers are %v.", table.clusterID, ids)
	for _, id := range ids {
		c.broker(ctx, d, table.brokers[id])
	}
	if bootstrap != "" {
		c.gateway(ctx, bootstrap, fmt.Sprintf("The bootstrap address %s", bootstrap), "", -1)
	}
	for _, id := range table.ids {
		host, port, _ := table.Advertised(id)
		addr := net.JoinHostPort(host, strconv.Itoa(int(port)))
		c.gateway(ctx, addr, fmt.Sprintf("The address %s that clients are told for broker %d", addr, id), table.clusterID, id)
	}
	return c.findings
}

type checker struct{ findings []Finding }

func (c *checker) good(format string, args ...any) {
	c.findings = append(c.findings, Finding{OK: true, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) bad(format string, args ...any) {
	c.findings = append(c.findings, Finding{Text: fmt.Sprintf(format, args...)})
}

// broker checks a real broker.
func (c *checker) broker(ctx context.Context, d *Directory, b broker) {
	p := d.cfg.Ports
	if _, ok := p.Port(b.id); !ok {
		c.bad("Broker %d has no port: the ports %d-%d are for the ids %d-%d, so clients cannot reach it.", b.id, p.First, p.Last, p.FirstID, p.LastID())
	}
	if _, err := askVersions(ctx, b.addr, "", -1); err != nil {
		c.bad("Broker %d cannot be reached at %s, the address that it gives for itself: %v.%s", b.id, b.addr, err, loopbackHint(b.host, d.cfg.Seeds))
		return
	}
	c.good("Broker %d answers at %s.", b.id, b.addr)
}

// loopbackHint explains the usual mistake with containers: a broker that advertises itself as localhost.
func loopbackHint(host string, seeds []string) string {
	if !isLoopback(host) {
		return ""
	}
	for _, seed := range seeds {
		if h, _, err := net.SplitHostPort(seed); err == nil && isLoopback(h) {
			return ""
		}
	}
	return " The broker's advertised.listeners names a loopback address, which leads from here to this machine; give the daemon a listener of its own."
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// gateway checks an address that clients are told.
func (c *checker) gateway(ctx context.Context, addr, what, clusterID string, id int32) {
	resp, err := askVersions(ctx, addr, clusterID, id)
	switch {
	case err != nil:
		c.bad("%s cannot be reached from here: %v.", what, err)
	case resp.ErrorCode == codeRebootstrapRequired:
		c.bad("%s belongs to another broker id or another cluster.", what)
	case resp.ErrorCode != 0:
		c.bad("%s answers with the error %d.", what, resp.ErrorCode)
	case !isGateway(resp):
		c.bad("%s leads to a broker itself, not to the daemon.", what)
	default:
		c.good("%s leads to the daemon.", what)
	}
}

// isGateway tells an answer of the daemon from one of a broker: exactly the daemon's own APIs, and nothing hidden.
func isGateway(resp *kmsg.ApiVersionsResponse) bool {
	own := map[int16]wire.Range{}
	for _, r := range wire.OwnKeys() {
		own[r.Key] = r
	}
	for i := range resp.ApiKeys {
		k := &resp.ApiKeys[i]
		switch wire.ClassOf(k.ApiKey) {
		case wire.Hidden:
			return false
		case wire.Passed:
		case wire.Own:
			if own[k.ApiKey] == (wire.Range{Key: k.ApiKey, Min: k.MinVersion, Max: k.MaxVersion}) {
				delete(own, k.ApiKey)
			}
		}
	}
	return len(own) == 0
}

// askVersions dials an address and asks for its versions, which needs no login. With a cluster id the question says whom it
// is meant for (KIP-1242), if the other side knows that version.
func askVersions(ctx context.Context, addr, clusterID string, id int32) (*kmsg.ApiVersionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 0
	if clusterID != "" && id >= 0 {
		req.Version = wire.APIVersionsMax
		req.ClientSoftwareName, req.ClientSoftwareVersion = softwareName, softwareVersion
		req.ClusterID, req.NodeID = &clusterID, id
	}
	resp, err := exchangeVersions(conn, req)
	if err == nil && resp.ErrorCode == codeUnsupportedVersion && req.Version > 0 {
		plain := kmsg.NewPtrApiVersionsRequest()
		plain.Version = 0
		return exchangeVersions(conn, plain)
	}
	return resp, err
}

func exchangeVersions(conn net.Conn, req *kmsg.ApiVersionsRequest) (*kmsg.ApiVersionsResponse, error) {
	const correlation = 1
	out := kmsg.NewRequestFormatter(kmsg.FormatterClientID(softwareName)).AppendRequest(nil, req, correlation)
	if _, err := conn.Write(out); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, noAnswer(err)
	}
	size := int32(binary.BigEndian.Uint32(head[:4]))
	const most = 1 << 20 // An answer has a few kilobytes.
	if size < 6 || size > most || binary.BigEndian.Uint32(head[4:]) != correlation {
		return nil, errors.New("the other side does not speak Kafka's protocol in plain text")
	}
	body := make([]byte, size-4)
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, noAnswer(err)
	}
	version := req.Version
	if int16(binary.BigEndian.Uint16(body)) == codeUnsupportedVersion {
		version = 0
	}
	return decodeAPIVersions(version, body)
}

func noAnswer(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the connection was accepted and closed without an answer")
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return fmt.Errorf("the connection was accepted, but there was no answer within %v", checkTimeout)
	}
	return err
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
