package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/coordinatord/coordinatord/internal/daemon"
	"github.com/coordinatord/coordinatord/internal/httpapi"
)

// maxAnswerBytes bounds what is read of one HTTP answer: a group of 10,000 members and 100,000 offsets stays below.
const maxAnswerBytes = 256 << 20

// clientFlags say how an operator's command reaches a running daemon.
type clientFlags struct {
	http      string
	bootstrap []string
	timeout   time.Duration
	output    format
	security  daemonFlags // only what concerns SASL
}

// httpFlags adds what a command needs that asks the daemon's HTTP.
func (c *clientFlags) httpFlags(cmd *cobra.Command) {
	c.http = daemon.DefaultConfig().HTTP
	cmd.Flags().StringVar(&c.http, "http", c.http, "the daemon's --http, host:port")
	c.common(cmd)
}

// kafkaFlags adds what a command needs that speaks Kafka's protocol with the daemon.
func (c *clientFlags) kafkaFlags(cmd *cobra.Command) {
	c.bootstrap = []string{"localhost:9192"}
	cmd.Flags().Var(&hostsValue{&c.bootstrap}, "bootstrap", "the daemon's bootstrap listener, host:port")
	c.security = *newDaemonFlags()
	c.security.registerSecurity(cmd)
	c.common(cmd)
}

func (c *clientFlags) common(cmd *cobra.Command) {
	c.timeout, c.output = 15*time.Second, formatText
	cmd.Flags().DurationVar(&c.timeout, "timeout", c.timeout, "how long the whole command may take")
	registerOutput(cmd, &c.output)
}

// get fetches one view into v. notFound says what a 404 means.
func (c *clientFlags) get(ctx context.Context, path string, v any, notFound string) error {
	status, body, err := c.fetch(ctx, path)
	if err != nil {
		return err
	}
	switch {
	case status == http.StatusNotFound && notFound != "":
		return errors.New(notFound)
	case status != http.StatusOK:
		var p httpapi.Problem
		if json.Unmarshal(body, &p) != nil || p.Error == "" {
			p.Error = http.StatusText(status)
		}
		return fmt.Errorf("the daemon at %s answered %d: %s", c.http, status, printable(p.Error))
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("what answers at %s is no coordinatord: %w", c.http, err)
	}
	return nil
}

func (c *clientFlags) fetch(ctx context.Context, path string) (status int, body []byte, err error) {
	host, port, err := net.SplitHostPort(c.http)
	if err != nil {
		return 0, nil, usagef("--http: %q is not host:port", c.http)
	}
	if host == "" {
		host = "localhost" // the daemon's own form of "every interface"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String()+path, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("no daemon answers at --http %s: %w", c.http, withoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	if err != nil {
		return 0, nil, fmt.Errorf("the daemon at %s stopped in the middle of its answer: %w", c.http, err)
	}
	if len(body) > maxAnswerBytes {
		return 0, nil, fmt.Errorf("the answer of %s is larger than %d bytes", c.http, maxAnswerBytes)
	}
	return resp.StatusCode, body, nil
}

func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// refused returns the cause of a failed request; when nobody could be asked, it names the address.
func (c *clientFlags) refused(err error) error {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return fmt.Errorf("no daemon answers at --bootstrap %s: %w", strings.Join(c.bootstrap, ","), dial)
	}
	return unwrapShard(err)
}

// admin connects to the daemon as a Kafka client; the caller closes it.
func (c *clientFlags) admin() (*kadm.Client, error) {
	security, err := c.security.finishSecurity()
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{kgo.SeedBrokers(c.bootstrap...), kgo.ClientID("coordinatord-cli"), kgo.RetryTimeout(c.timeout)}
	auth, err := security.ClientOptions()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(opts, auth...)...)
	if err != nil {
		return nil, fmt.Errorf("--bootstrap: %w", err)
	}
	return kadm.NewClient(client), nil
}
