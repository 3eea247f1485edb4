package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fakeSource struct {
	reasons []string
	err     error
}

func (s *fakeSource) Cluster() Cluster  { return Cluster{NodeID: 1, LeaderID: 2, Term: 7} }
func (s *fakeSource) Kafka() Kafka      { return Kafka{ClusterID: "c", Error: "refused"} }
func (s *fakeSource) Reasons() []string { return s.reasons }
func (s *fakeSource) Groups(context.Context) ([]GroupSummary, error) {
	return []GroupSummary{{Group: "g", State: "Stable", Type: "classic", ProtocolType: "consumer"}}, s.err
}

func (s *fakeSource) Group(_ context.Context, name string) (Group, bool, error) {
	if strings.HasPrefix(name, "no") {
		return Group{}, false, s.err
	}
	return Group{Group: name, State: "Empty"}, true, s.err
}

func do(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, http.NoBody)
	r.Host = "localhost:9191"
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAnswers(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "metric 1") })
	for name, tc := range map[string]struct {
		src            fakeSource
		method, target string
		header         []string
		status         int
		want           string // the whole body if it is JSON, else a part
	}{
		"live":           {target: "/livez", status: 200, want: `{"live":true}`},
		"ready":          {target: "/readyz", status: 200, want: `{"ready":true,"reasons":[]}`},
		"not ready":      {src: fakeSource{reasons: []string{"a", "b"}}, target: "/readyz", status: 503, want: `{"ready":false,"reasons":["a","b"]}`},
		"cluster":        {target: "/v1/cluster", status: 200, want: `{"node_id":1,"leader_id":2,"term":7,"nodes":[]}`},
		"kafka":          {target: "/v1/kafka", status: 200, want: `{"cluster_id":"c","reachable":false,"brokers":[],"error":"refused"}`},
		"groups":         {target: "/v1/groups", status: 200, want: `{"groups":[{"group":"g","state":"Stable","type":"classic","protocol_type":"consumer"}]}`},
		"groups refused": {src: fakeSource{err: fmt.Errorf("%w: no leader", ErrUnavailable)}, target: "/v1/groups", status: 503, want: `{"error":"not available now: no leader"}`},
		"groups broken":  {src: fakeSource{err: errors.New("broken")}, target: "/v1/groups", status: 500, want: `{"error":"broken"}`},
		"group": {
			target: "/v1/groups/a%2Fb%20c", status: 200,
			want: `{"group":"a/b c","state":"Empty","protocol_type":"","protocol":"","generation":0,"leader":"","members":[],"offsets":[],"lag":0,"lag_partial":false}`,
		},
		"no group":             {target: "/v1/groups/none", status: 404, want: `{"error":"there is no group none"}`},
		"no path":              {target: "/v2/groups", status: 404, want: `{"error":"there is no /v2/groups"}`},
		"root":                 {target: "/", status: 404, want: `{"error":"there is no /"}`},
		"deeper":               {target: "/v1/groups/a/b", status: 404, want: `{"error":"there is no /v1/groups/a/b"}`},
		"post":                 {method: "POST", target: "/v1/groups", status: 405, want: `{"error":"POST is not served here; GET is"}`},
		"delete":               {method: "DELETE", target: "/v1/groups/g", status: 405, want: `{"error":"DELETE is not served here; GET is"}`},
		"metrics":              {target: "/metrics", status: 200, want: "metric 1"},
		"no pprof":             {target: "/debug/pprof/", status: 404, want: `{"error":"there is no /debug/pprof/"}`},
		"address":              {target: "/livez", header: []string{"Host", "127.0.0.1:9191"}, status: 200, want: `{"live":true}`},
		"address 6":            {target: "/livez", header: []string{"Host", "[::1]:9191"}, status: 200, want: `{"live":true}`},
		"name of somebody":     {target: "/livez", header: []string{"Host", "evil.example:9191"}, status: 403, want: `{"error":"this port is on loopback and is asked for as localhost or by address, not as evil.example:9191"}`},
		"page of another site": {target: "/livez", header: []string{"Origin", "http://evil.example"}, status: 403, want: `{"error":"requests of web pages are refused"}`},
	} {
		t.Run(name, func(t *testing.T) {
			method := tc.method
			if method == "" {
				method = "GET"
			}
			w := do(Handler(&tc.src, Options{Metrics: metrics, Loopback: true}, zap.NewNop()), method, tc.target, tc.header...)
			require.Equal(t, tc.status, w.Code)
			if strings.HasPrefix(tc.want, "{") {
				require.Equal(t, "application/json", w.Header().Get("Content-Type"))
				require.JSONEq(t, tc.want, w.Body.String())
			} else {
				require.Contains(t, w.Body.String(), tc.want)
			}
			if tc.status == http.StatusMethodNotAllowed {
				require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
			}
		})
	}
}

func TestNamesAreFreeOffLoopback(t *testing.T) {
	w := do(Handler(&fakeSource{}, Options{}, zap.NewNop()), "GET", "/livez", "Host", "coordinatord.internal:9191")
	require.Equal(t, http.StatusOK, w.Code)
}

func TestPprof(t *testing.T) {
	w := do(Handler(&fakeSource{}, Options{Pprof: true}, zap.NewNop()), "GET", "/debug/pprof/")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "goroutine")
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return ln
}

// Serve finds out by itself that it is on loopback, refuses a large body, and ends.
func TestServe(t *testing.T) {
	ln := listen(t)
	s := Serve(ln, &fakeSource{}, Options{}, zap.NewNop())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + ln.Addr().String() + "/v1/cluster")
	require.NoError(t, err)
	var c Cluster
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&c))
	require.NoError(t, resp.Body.Close())
	require.Equal(t, uint64(2), c.LeaderID)

	req, err := http.NewRequest(http.MethodGet, "http://"+ln.Addr().String()+"/livez", http.NoBody)
	require.NoError(t, err)
	req.Host = "evil.example"
	resp, err = client.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusForbidden, resp.StatusCode)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s.Close(ctx)
	_, err = client.Get("http://" + ln.Addr().String() + "/livez")
	require.Error(t, err)
}

// A header that is too large is refused, and garbage is no danger.
func TestBadBytes(t *testing.T) {
	ln := listen(t)
	s := Serve(ln, &fakeSource{}, Options{}, zap.NewNop())
	defer s.Close(t.Context())
	for input, want := range map[string]string{
		"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n": "431",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n":                                     "400",
		"GET /livez HTTP/1.1\r\n\r\n":                                                              "400", // no host
	} {
		conn, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, input)
		require.NoError(t, err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, want)
		require.NoError(t, conn.Close())
	}
}

// More connections than the bound wait, and get their turn when another one ends.
func TestConnectionLimit(t *testing.T) {
	inner := listen(t)
	ln := limit(inner, 1)
	accepted := make(chan net.Conn)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	var clients []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", inner.Addr().String())
		require.NoError(t, err)
		clients = append(clients, c)
	}
	first := <-accepted
	select {
	case <-accepted:
		t.Fatal("the second connection was taken while the first one was open")
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, first.Close())
	second := <-accepted
	require.NoError(t, second.Close())
	_ = second.Close() // a second close frees nothing twice
	require.NoError(t, ln.Close())
	<-done
	for _, c := range clients {
		require.NoError(t, c.Close())
	}
}
