package daemon

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/gateway"
	"github.com/coordinatord/coordinatord/raftstore"
	"github.com/coordinatord/coordinatord/wire"
)

type registry = prometheus.Registry

// refreshTimeout is how long a look at the metrics waits for the loop, which may be stuck behind a stalled disk.
const refreshTimeout = 2 * time.Second

// metricsHandler serves the metrics, with the gauges of this moment.
func (p *process) metricsHandler(reg *registry) http.Handler {
	serve := promhttp.HandlerFor(reg, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 30 * time.Second})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if loop := p.loop.Load(); loop != nil {
			ctx, cancel := context.WithTimeout(r.Context(), refreshTimeout)
			loop.RefreshMetrics(ctx)
			cancel()
		}
		serve.ServeHTTP(w, r)
	})
}

func newRegistry(dropped func() uint64) *registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if dropped != nil {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "coordinatord_dropped_log_lines_total", Help: "Lines that were not logged, because the log was not read as fast as it was written.",
		}, func() float64 { return float64(dropped()) }))
	}
	return reg
}

// registerKafka adds what is known of Kafka.
func registerKafka(reg prometheus.Registerer, d *gateway.Directory) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "coordinatord_kafka_reachable", Help: "1 if Kafka answered the latest look at the cluster.",
	}, func() float64 {
		if d.Err() != nil {
			return 0
		}
		return 1
	}), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "coordinatord_kafka_brokers", Help: "Brokers that Kafka lists and that have a port here.",
	}, func() float64 { return float64(len(d.Table().IDs())) }))
}

// Bounds of the table of request counters: above every key and version that Kafka has.
const (
	countedKeys     = 128
	countedVersions = 32
)

// gatewayMetrics implements gateway.Metrics. Counting is on the path of every request: a counter is found without a map.
type gatewayMetrics struct {
	connections prometheus.Gauge
	accepted    prometheus.Counter
	in, out     prometheus.Counter
	requests    *prometheus.CounterVec
	byVersion   [countedKeys][countedVersions]atomic.Pointer[prometheus.Counter]
	unknown     prometheus.Counter
}

func newGatewayMetrics(reg prometheus.Registerer) *gatewayMetrics {
	bytes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "coordinatord_client_bytes_total", Help: "Bytes read from (in) and written to (out) clients.",
	}, []string{"direction"})
	m := &gatewayMetrics{
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "coordinatord_connections", Help: "Clients' connections that are open.",
		}),
		accepted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "coordinatord_connections_accepted_total", Help: "Clients' connections since the start.",
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "coordinatord_requests_total", Help: "Requests of clients, answered here and passed to Kafka, by API and version.",
		}, []string{"api", "version"}),
		in:  bytes.WithLabelValues("in"),
		out: bytes.WithLabelValues("out"),
	}
	m.unknown = m.requests.WithLabelValues("unknown", "")
	reg.MustRegister(m.connections, m.accepted, m.requests, bytes)
	return m
}

func (m *gatewayMetrics) Request(key, version int16) {
	if key < 0 || key >= countedKeys || version < 0 || version >= countedVersions || !wire.KnownKey(key) {
		m.unknown.Inc() // what a client claims must not grow the number of series
		return
	}
	p := m.byVersion[key][version].Load()
	if p == nil {
		c := m.requests.WithLabelValues(kmsg.NameForKey(key), strconv.Itoa(int(version)))
		p = &c
		m.byVersion[key][version].Store(p)
	}
	(*p).Inc()
}

func (m *gatewayMetrics) Bytes(in, out int) {
	m.in.Add(float64(in))
	m.out.Add(float64(out))
}

func (m *gatewayMetrics) Connections(delta int) {
	m.connections.Add(float64(delta))
	if delta > 0 {
		m.accepted.Add(float64(delta))
	}
}

// logMetrics implements raftstore.Observer.
type logMetrics struct {
	batches, commands, bytes prometheus.Counter
	batchCommands            prometheus.Histogram
	synced, committed        prometheus.Histogram
	written                  prometheus.Histogram
}

func newLogMetrics(reg prometheus.Registerer, shard string) *logMetrics {
	labels := prometheus.Labels{"shard": shard}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "coordinatord_log_" + name, Help: help, ConstLabels: labels})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "coordinatord_log_" + name, Help: help, ConstLabels: labels, Buckets: buckets})
	}
	seconds := prometheus.ExponentialBuckets(0.0001, 2, 16) // 0.1 ms to 3.3 s
	m := &logMetrics{
		batches:       counter("batches_total", "Batches handed to Raft."),
		commands:      counter("commands_total", "Commands in these batches."),
		bytes:         counter("bytes_total", "Bytes of these batches."),
		batchCommands: histogram("batch_commands", "Commands in one batch.", prometheus.ExponentialBuckets(1, 2, 14)),
		synced:        histogram("append_seconds", "Time of one append to the log, its sync included.", seconds),
		committed:     histogram("commit_seconds", "Time from handing a batch to Raft until it is applied.", seconds),
		written:       histogram("write_behind_seconds", "Time of bringing the materialised copy up to date.", prometheus.ExponentialBuckets(0.001, 2, 14)),
	}
	reg.MustRegister(m.batches, m.commands, m.bytes, m.batchCommands, m.synced, m.committed, m.written)
	return m
}

func (m *logMetrics) Proposed(commands, bytes int) {
	m.batches.Inc()
	m.commands.Add(float64(commands))
	m.bytes.Add(float64(bytes))
	m.batchCommands.Observe(float64(commands))
}
func (m *logMetrics) Synced(_ int, d time.Duration)       { m.synced.Observe(d.Seconds()) }
func (m *logMetrics) Committed(d time.Duration)           { m.committed.Observe(d.Seconds()) }
func (m *logMetrics) Materialised(_ int, d time.Duration) { m.written.Observe(d.Seconds()) }

// registerStatus adds gauges of the log's state, which are looked up when they are asked for.
func registerStatus(reg prometheus.Registerer, shard string, status func() raftstore.Status) {
	gauge := func(name, help string, f func(raftstore.Status) float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "coordinatord_raft_" + name, Help: help, ConstLabels: prometheus.Labels{"shard": shard},
		}, func() float64 { return f(status()) }))
	}
	gauge("term", "Raft's term.", func(s raftstore.Status) float64 { return float64(s.Term) })
	gauge("leader_id", "The leader's node id; 0: none known.", func(s raftstore.Status) float64 { return float64(s.LeaderID) })
	gauge("last_index", "Index of the log's last entry.", func(s raftstore.Status) float64 { return float64(s.LastIndex) })
	gauge("applied_index", "Index of the last entry applied.", func(s raftstore.Status) float64 { return float64(s.Applied) })
	gauge("snapshot_index", "Index of the newest snapshot.", func(s raftstore.Status) float64 { return float64(s.Snapshot) })
	gauge("materialised_index", "Index of the materialised copy.", func(s raftstore.Status) float64 { return float64(s.Materialised) })
	gauge("queued_bytes", "Bytes of commands that wait to be proposed.", func(s raftstore.Status) float64 { return float64(s.QueuedBytes) })
	gauge("log_disk_bytes", "Size of the log on disk.", func(s raftstore.Status) float64 { return float64(s.LogBytes) })
	gauge("state_disk_bytes", "Size of the materialised copy on disk.", func(s raftstore.Status) float64 { return float64(s.StateBytes) })
}
