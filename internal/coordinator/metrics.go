package coordinator

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

// Metrics are the coordinator's Prometheus metrics. None has a label per group: there may be a hundred thousand of them.
type Metrics struct {
	requests *prometheus.CounterVec
	byKey    [maxKey]atomic.Pointer[byCode]

	proposal  prometheus.Histogram
	inputs    prometheus.Counter
	rounds    prometheus.Counter
	lag       prometheus.Gauge
	maxLag    time.Duration // since the last look at the gauges
	notices   *prometheus.CounterVec
	askFailed prometheus.Counter

	groups     *prometheus.GaugeVec
	members    prometheus.Gauge
	offsets    prometheus.Gauge
	parked     prometheus.Gauge
	waiting    prometheus.Gauge
	proposals  prometheus.Gauge
	leading    prometheus.Gauge
	lastStates []string
}

const (
	maxKey   = 64  // above every key of our own
	codeBase = 1   // UNKNOWN_SERVER_ERROR is -1
	maxCode  = 140 // above every code of our own
)

type byCode [maxCode]atomic.Pointer[prometheus.Counter]

// NewMetrics makes the metrics and registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "coordinatord_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "coordinatord_" + name, Help: help})
	}
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "coordinatord_group_requests_total",
			Help: "Group requests answered, by API and by the first error code in the answer (0: none).",
		}, []string{"api", "code"}),
		proposal: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "coordinatord_proposal_seconds",
			Help:    "Time from proposing a record to having applied it.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}),
		inputs: counter("loop_inputs_total", "Things the coordinator's loop has handled: requests, committed batches and others."),
		rounds: counter("loop_rounds_total", "Rounds of the coordinator's loop; inputs per round tell how busy it is."),
		lag:    gauge("loop_lag_seconds", "The longest that something has waited for the coordinator's loop in the last second of work."),
		notices: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "coordinatord_group_events_total", Help: "Events of groups, by kind.",
		}, []string{"event"}),
		askFailed: counter("topic_questions_failed_total", "Times that Kafka could not be asked about a topic."),
		groups: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "coordinatord_groups", Help: "Groups, by state.",
		}, []string{"state"}),
		members:   gauge("group_members", "Members of all groups."),
		offsets:   gauge("group_offsets", "Committed offsets of all groups."),
		parked:    gauge("parked_requests", "JoinGroup and SyncGroup requests that wait for other members."),
		waiting:   gauge("waiting_requests", "Requests that have not been answered yet, parked ones included."),
		proposals: gauge("proposals_in_flight", "Records proposed and not yet committed."),
		leading:   gauge("leading", "1 while this node is the coordinator."),
	}
	reg.MustRegister(m.requests, m.proposal, m.inputs, m.rounds, m.lag, m.notices, m.askFailed, m.groups, m.members, m.offsets,
		m.parked, m.waiting, m.proposals, m.leading)
	return m
}

// answered counts a response. It is on the path of every commit: the counters are found without a map.
func (m *Metrics) answered(key int16, code group.Code) {
	if key == ownQuestion {
		return
	}
	k, c := int(key), int(code)+codeBase
	if k < 0 || k >= maxKey || c < 0 || c >= maxCode {
		m.counter(key, code).Inc()
		return
	}
	codes := m.byKey[k].Load()
	if codes == nil {
		m.byKey[k].CompareAndSwap(nil, new(byCode))
		codes = m.byKey[k].Load()
	}
	p := codes[c].Load()
	if p == nil {
		n := m.counter(key, code)
		p = &n
		codes[c].Store(p)
	}
	(*p).Inc()
}

func (m *Metrics) counter(key int16, code group.Code) prometheus.Counter {
	return m.requests.WithLabelValues(kmsg.NameForKey(key), strconv.Itoa(int(code)))
}

func (m *Metrics) proposed(d time.Duration) { m.proposal.Observe(d.Seconds()) }

func (m *Metrics) round(inputs int, lag time.Duration) {
	m.maxLag = max(m.maxLag, lag)
	m.rounds.Inc()
	m.inputs.Add(float64(inputs))
}

func (m *Metrics) gauges(s group.Stats, waiting, proposals int, leading bool) {
	for _, state := range m.lastStates {
		if _, ok := s.GroupsByState[state]; !ok {
			m.groups.WithLabelValues(state).Set(0)
		}
	}
	m.lastStates = m.lastStates[:0]
	for state, n := range s.GroupsByState {
		m.lastStates = append(m.lastStates, state)
		m.groups.WithLabelValues(state).Set(float64(n))
	}
	m.lag.Set(m.maxLag.Seconds())
	m.maxLag = 0
	m.members.Set(float64(s.Members))
	m.offsets.Set(float64(s.Offsets))
	m.parked.Set(float64(s.Parked))
	m.waiting.Set(float64(waiting))
	m.proposals.Set(float64(proposals))
	m.leading.Set(0)
	if leading {
		m.leading.Set(1)
	}
}
