package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coordinatord/coordinatord/internal/httpapi"
)

// statusReport is what status prints as JSON.
type statusReport struct {
	httpapi.Cluster
	httpapi.Readiness
	Kafka         httpapi.Kafka  `json:"kafka"`
	GroupsByState map[string]int `json:"groups_by_state"`
}

func (a *app) statusCommand() *cobra.Command {
	var c clientFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what a running daemon is doing; exit 1 when it is not ready",
		Args:  cobra.NoArgs,
		RunE: a.body(func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), c.timeout)
			defer cancel()
			return a.status(ctx, &c)
		}),
	}
	c.httpFlags(cmd)
	return cmd
}

func (a *app) status(ctx context.Context, c *clientFlags) error {
	var report statusReport
	code, body, err := c.fetch(ctx, "/readyz")
	if err != nil {
		return err
	}
	if code != http.StatusOK && code != http.StatusServiceUnavailable || json.Unmarshal(body, &report.Readiness) != nil {
		return fmt.Errorf("what answers at %s is no coordinatord", c.http)
	}
	if err := c.get(ctx, "/v1/cluster", &report.Cluster, ""); err != nil {
		return err
	}
	if err := c.get(ctx, "/v1/kafka", &report.Kafka, ""); err != nil {
		return err
	}
	if report.Ready {
		var groups httpapi.Groups
		if err := c.get(ctx, "/v1/groups", &groups, ""); err != nil {
			return err
		}
		report.GroupsByState = make(map[string]int)
		for _, g := range groups.Groups {
			report.GroupsByState[g.State]++
		}
	}
	if err := a.printStatus(c.output, &report); err != nil {
		return err
	}
	if !report.Ready {
		return errReported
	}
	return nil
}

func (a *app) printStatus(output format, r *statusReport) error {
	if output == formatJSON {
		return a.printJSON(r)
	}
	ready := "yes"
	if !r.Ready {
		ready = "no: " + printable(strings.Join(r.Reasons, "; "))
	}
	leader := fmt.Sprint(r.LeaderID)
	if r.LeaderID == 0 {
		leader = "none known"
	}
	if _, err := fmt.Fprintf(a.stdout, "node %d, leader %s, term %d\nready: %s\n", r.NodeID, leader, r.Term, ready); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.stdout, "Kafka: %s\n", kafkaText(&r.Kafka)); err != nil {
		return err
	}
	nodes := table{heading: []string{"NODE", "ROLE", "BOOTSTRAP", "RAFT", "VOTER"}}
	for _, n := range r.Nodes {
		role := "follower"
		switch r.LeaderID {
		case 0:
			role = "-"
		case n.ID:
			role = "leader"
		}
		nodes.add(n.ID, role, n.Bootstrap, n.Raft, n.Voter)
	}
	if err := a.printTable(&nodes); err != nil {
		return err
	}
	if r.GroupsByState == nil {
		return nil
	}
	groups := table{heading: []string{"GROUPS", "STATE"}}
	for _, state := range sortedKeys(r.GroupsByState) {
		groups.add(r.GroupsByState[state], state)
	}
	if len(groups.rows) == 0 {
		groups.add(0, "")
	}
	return a.printTable(&groups)
}

func kafkaText(k *httpapi.Kafka) string {
	switch {
	case k.Reachable:
		return fmt.Sprintf("cluster %s, brokers %s", printable(k.ClusterID), joinInts(k.Brokers))
	case k.ClusterID == "":
		return "has not answered yet: " + cmp.Or(printable(k.Error), "it is being asked")
	default:
		return fmt.Sprintf("cluster %s does not answer: %s", printable(k.ClusterID), printable(k.Error))
	}
}
