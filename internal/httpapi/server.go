package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"go.uber.org/zap"
)

// Bounds of the server.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 60 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
	maxBodyBytes   = 64 << 10
	maxConnections = 256
	viewTimeout    = 10 * time.Second // of one JSON view
	profileTimeout = 5 * time.Minute  // a CPU profile or trace takes as long as it is asked to
)

// ErrUnavailable is wrapped by a [Source] that cannot answer now.
var ErrUnavailable = errors.New("not available now")

// Source answers the views. Its methods are called from many goroutines.
type Source interface {
	Cluster() Cluster
	Kafka() Kafka
	// Reasons says why the daemon is not ready; none: it is.
	Reasons() []string
	Groups(ctx context.Context) ([]GroupSummary, error)
	// Group returns ok false where there is no such group.
	Group(ctx context.Context, name string) (g Group, ok bool, err error)
}

// Options says what is served besides the views.
type Options struct {
	Metrics http.Handler // GET /metrics
	Pprof   bool         // /debug/pprof/
	// Loopback says that the listener is on loopback, which [Serve] finds out by itself.
	Loopback bool
}

// Server is the operator's HTTP server.
type Server struct {
	http *http.Server
	log  *zap.Logger
	done chan struct{}
}

// Serve starts serving on ln, which it closes at the end.
func Serve(ln net.Listener, src Source, opts Options, log *zap.Logger) *Server {
	if addr, ok := ln.Addr().(*net.TCPAddr); ok && addr.IP.IsLoopback() {
		opts.Loopback = true
	}
	s := &Server{
		http: &http.Server{
			Handler:           Handler(src, opts, log),
			ReadHeaderTimeout: headerTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          zap.NewStdLog(log),
		},
		log:  log,
		done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(limit(ln, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			log.Error("HTTP has stopped", zap.Error(err))
		}
	}()
	return s
}

// Close waits for answers that are on their way until ctx ends.
func (s *Server) Close(ctx context.Context) {
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
	<-s.done
}

// Handler returns the routes.
func Handler(src Source, opts Options, log *zap.Logger) http.Handler {
	v := &views{src: src, log: log}
	mux := http.NewServeMux()
	get := func(path string, h http.Handler) {
		// A pattern with a method would leave 405 to the mux, whose answer is no JSON.
		mux.Handle(path, onlyGet(h))
	}
	get("/livez", http.HandlerFunc(v.live))
	get("/readyz", http.HandlerFunc(v.ready))
	get("/v1/cluster", http.HandlerFunc(v.cluster))
	get("/v1/kafka", http.HandlerFunc(v.kafka))
	get("/v1/groups", http.HandlerFunc(v.groups))
	get("/v1/groups/{group}", http.HandlerFunc(v.group))
	if opts.Metrics != nil {
		get("/metrics", opts.Metrics)
	}
	if opts.Pprof {
		mux.Handle("/debug/pprof/", longer(http.HandlerFunc(pprof.Index)))
		mux.Handle("/debug/pprof/cmdline", longer(http.HandlerFunc(pprof.Cmdline)))
		mux.Handle("/debug/pprof/profile", longer(http.HandlerFunc(pprof.Profile)))
		mux.Handle("/debug/pprof/symbol", longer(http.HandlerFunc(pprof.Symbol)))
		mux.Handle("/debug/pprof/trace", longer(http.HandlerFunc(pprof.Trace)))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusNotFound, Problem{"there is no " + r.URL.Path})
	})
	return guard(opts.Loopback, mux)
}

// guard refuses what no honest operator sends: a large body, a request that a web page of another site makes, and, where
// the port is on loopback, a Host that is neither an address nor localhost: a page in a browser on this machine could
// otherwise read the port by pointing a name of its own at 127.0.0.1.
func guard(loopback bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		switch {
		case loopback && !localHost(r.Host):
			write(w, http.StatusForbidden, Problem{"this port is on loopback and is asked for as localhost or by address, not as " + r.Host})
			return
		case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") == "cross-site":
			write(w, http.StatusForbidden, Problem{"requests of web pages are refused"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		next.ServeHTTP(w, r)
	})
}

func localHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	return host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host) != nil
}

func onlyGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			write(w, http.StatusMethodNotAllowed, Problem{r.Method + " is not served here; GET is"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// longer lifts the server's write deadline for answers that take long by themselves.
func longer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		deadline := time.Now().Add(profileTimeout)
		_ = http.NewResponseController(w).SetWriteDeadline(deadline)
		next.ServeHTTP(w, r)
	})
}

func write(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that has gone needs no answer
}
