package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func adminClient(t *testing.T, bootstrap string) *kadm.Client {
	t.Helper()
	return kadm.NewClient(kafkaClient(t, bootstrap))
}

func commitOffset(t *testing.T, admin *kadm.Client, group, topic string, partition int32, offset int64) error {
	t.Helper()
	offsets := make(kadm.Offsets)
	offsets.AddOffset(topic, partition, offset, -1)
	resps, err := admin.CommitOffsets(testContext(t), group, offsets)
	if err != nil {
		return err
	}
	return resps.Error()
}

// The operator's commands against a running daemon.
func TestOperatorCommands(t *testing.T) {
	t.Parallel()
	p := freePorts(t, 2)
	d := start(t, append([]string{"dev", "--data-dir", t.TempDir(), "--topics", "orders:2,other:1", "--brokers", "2"}, p.args()...)...)
	produce(t, d.bootstrap, "other", 0, 4)
	producer := kafkaClient(t, d.bootstrap, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i := range 10 {
		r := &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: fmt.Append(nil, i)}
		require.NoError(t, producer.ProduceSync(testContext(t), r).FirstErr())
	}
	admin := adminClient(t, d.bootstrap)
	require.NoError(t, commitOffset(t, admin, "g", "orders", 0, 3))
	require.NoError(t, commitOffset(t, admin, "g", "other", 0, 4))

	offset := func(topic string, partition int32) int64 {
		offsets, err := admin.FetchOffsets(testContext(t), "g")
		require.NoError(t, err)
		o, ok := offsets.Lookup(topic, partition)
		if !ok {
			return -1
		}
		return o.At
	}
	reset := func(args ...string) (result, resetReport) {
		r := runCommand(t, nil, append([]string{"groups", "reset-offsets", "g", "--bootstrap", d.bootstrap, "--output", "json"}, args...)...)
		var report resetReport
		if r.code == exitOK {
			require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
		}
		return r, report
	}

	t.Run("status", func(t *testing.T) {
		r := runCommand(t, nil, "status", "--http", d.http)
		require.Equal(t, exitOK, r.code, r.stderr)
		require.Contains(t, r.stdout, "ready: yes")
		require.Regexp(t, `(?m)^Kafka: cluster \S+, brokers 0-1$`, r.stdout)
		require.Contains(t, r.stdout, d.bootstrap)
		r = runCommand(t, []string{"COORDINATORD_HTTP=" + d.http}, "status", "--output", "json")
		require.Equal(t, exitOK, r.code, r.stderr)
		require.Contains(t, r.stdout, `"leader_id": 1`)
		require.Contains(t, r.stdout, `"Empty": 1`)
	})
	t.Run("nobody there", func(t *testing.T) {
		r := runCommand(t, nil, "status", "--http", "127.0.0.1:1")
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.stderr, "127.0.0.1:1")
		for _, args := range [][]string{{"delete", "g"}, {"reset-offsets", "g", "--all-topics", "--to-latest"}} {
			r = runCommand(t, nil, append(append([]string{"groups"}, args...), "--bootstrap", "127.0.0.1:1", "--timeout", "2s")...)
			require.Equal(t, exitFailed, r.code)
			require.Contains(t, r.stderr, "no daemon answers at --bootstrap 127.0.0.1:1")
		}
	})
	t.Run("list", func(t *testing.T) {
		r := runCommand(t, nil, "groups", "list", "--http", d.http)
		require.Equal(t, exitOK, r.code, r.stderr)
		require.Regexp(t, `(?m)^g +Empty +classic`, r.stdout)
	})
	t.Run("describe", func(t *testing.T) {
		r := runCommand(t, nil, "groups", "describe", "g", "--http", d.http)
		require.Equal(t, exitOK, r.code, r.stderr)
		require.Contains(t, r.stdout, "lag 2")
		require.Regexp(t, `(?m)^orders +0 +3 +5 +2`, r.stdout)
		require.Regexp(t, `(?m)^other +0 +4 +4 +0`, r.stdout)
		r = runCommand(t, nil, "groups", "describe", "none", "--http", d.http)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.stderr, "there is no group none")
	})
	t.Run("reset shows and does not change", func(t *testing.T) {
		r, report := reset("--topic", "orders", "--to-latest")
		require.Equal(t, exitOK, r.code, r.stderr)
		require.False(t, report.Executed)
		require.Len(t, report.Moves, 2)
		require.Equal(t, int64(3), *report.Moves[0].Current)
		require.Nil(t, report.Moves[1].Current)
		require.Equal(t, int64(5), report.Moves[1].New)
		require.Equal(t, int64(3), offset("orders", 0))
		require.Equal(t, int64(-1), offset("orders", 1))
	})
	t.Run("reset executes", func(t *testing.T) {
		for _, tc := range []struct {
			args []string
			want map[int32]int64 // of orders
		}{
			{[]string{"--topic", "orders", "--to-earliest"}, map[int32]int64{0: 0, 1: 0}},
			{[]string{"--topic", "orders:1", "--to-latest"}, map[int32]int64{0: 0, 1: 5}},
			{[]string{"--topic", "orders", "--to-offset", "2"}, map[int32]int64{0: 2, 1: 2}},
			{[]string{"--topic", "orders:0,1", "--shift-by", "2"}, map[int32]int64{0: 4, 1: 4}},
			{[]string{"--topic", "orders:0", "--shift-by", "-100"}, map[int32]int64{0: 0, 1: 4}},
			{[]string{"--topic", "orders:0", "--to-offset", "100"}, map[int32]int64{0: 5, 1: 4}},
			{[]string{"--topic", "orders", "--to-datetime", "2000-01-01T00:00:00Z"}, map[int32]int64{0: 0, 1: 0}},
			{[]string{"--topic", "orders", "--to-datetime", "2100-01-01"}, map[int32]int64{0: 5, 1: 5}},
			{[]string{"--all-topics", "--to-earliest"}, map[int32]int64{0: 0, 1: 0}},
		} {
			r, report := reset(append(tc.args, "--execute")...)
			require.Equal(t, exitOK, r.code, r.stderr)
			require.True(t, report.Executed)
			for partition, want := range tc.want {
				require.Equal(t, want, offset("orders", partition), "%v", tc.args)
			}
		}
		require.Equal(t, int64(0), offset("other", 0), "--all-topics reaches every topic of the group")
	})
	t.Run("reset refuses", func(t *testing.T) {
		for name, tc := range map[string]struct {
			args []string
			want string
		}{
			"topic":     {[]string{"--topic", "none", "--to-latest"}, "there is no topic none"},
			"partition": {[]string{"--topic", "orders:7", "--to-latest"}, "no partition 7"},
			"time":      {[]string{"--topic", "orders", "--to-datetime", "yesterday"}, "--to-datetime"},
			"list":      {[]string{"--topic", "orders:x", "--to-latest"}, "--topic"},
		} {
			r, _ := reset(tc.args...)
			require.NotEqual(t, exitOK, r.code, name)
			require.Contains(t, r.stderr, tc.want)
		}
		member := kafkaClient(t, d.bootstrap, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("orders"))
		member.PollRecords(testContext(t), 1)
		before := offset("orders", 0)
		r, _ := reset("--topic", "orders", "--to-latest", "--execute")
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.stderr, "has 1 member (Stable)")
		require.Equal(t, before, offset("orders", 0))

		r = runCommand(t, nil, "groups", "describe", "g", "--http", d.http)
		require.Contains(t, r.stdout, "orders:0-1", "the member's assignment")
		r = runCommand(t, nil, "groups", "delete", "g", "none", "--bootstrap", d.bootstrap)
		require.Equal(t, exitFailed, r.code)
		require.Regexp(t, `(?m)^g +false +the group has members`, r.stdout)
		require.Regexp(t, `(?m)^none +false +there is no such group`, r.stdout)
		member.LeaveGroup()
	})
	t.Run("delete", func(t *testing.T) {
		r := runCommand(t, nil, "groups", "delete", "g", "--bootstrap", d.bootstrap)
		require.Equal(t, exitOK, r.code, r.stdout+r.stderr)
		r = runCommand(t, nil, "groups", "list", "--http", d.http)
		require.NotContains(t, r.stdout, "g ")
		status, _ := d.get("/v1/groups/g")
		require.Equal(t, 404, status)
	})
	t.Run("check", func(t *testing.T) {
		settings := append([]string{"check", "--kafka-brokers", upstreamOf(t, d)}, p.args()...)
		r := runCommand(t, nil, settings...)
		require.Equal(t, exitOK, r.code, r.stdout+r.stderr)
		require.Contains(t, r.stdout, "0 of")
		// Clients that were told a host where nobody listens would be lost.
		r = runCommand(t, nil, append(settings, "--advertise-host", "127.0.0.2", "--listen", "127.0.0.1:1")...)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.stdout, "WRONG")
		require.Contains(t, r.stdout, "127.0.0.2:1 cannot be reached")
	})
}
