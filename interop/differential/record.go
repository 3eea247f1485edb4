package differential

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Answer waits for the answer and records it. Without one the sequence ends.
func (c *Call) Answer() kmsg.Response { return c.settle("", "") }

// Want is Answer, and says what the reference expects: the error codes in the order of the message. A single code
// stands for all of them.
func (c *Call) Want(want ...int16) kmsg.Response {
	resp := c.settle("", "")
	c.expect(resp, want)
	return resp
}

func (c *Call) expect(resp kmsg.Response, want []int16) {
	got := codes(resp)
	ok := slices.Equal(got, want)
	if len(want) == 1 && len(got) > 0 {
		ok = true
		for i, g := range got {
			// With a top-level code and nested ones, a single wanted code may stand at either level.
			if g != want[0] && (len(got) == 1 || i > 0 || g != 0) {
				ok = false
			}
		}
		if !slices.Contains(got, want[0]) {
			ok = false
		}
	}
	if !ok {
		c.conn.script.last().Mismatch = fmt.Sprintf("error codes %v, the reference says %v", got, want)
	}
}

// WantClosed records that the target closes the connection without an answer.
func (c *Call) WantClosed() {
	s := c.conn.script
	step := c.step()
	select {
	case <-c.done:
	case <-time.After(patience):
	}
	c.fill(&step)
	if step.Kind != "closed" {
		step.Mismatch = step.Kind + ", the reference says closed"
	}
	s.steps = append(s.steps, step)
}

// EitherOf records an outcome that may legitimately be one of several; which one it was is not compared.
func (c *Call) EitherOf(outcomes ...string) {
	step := c.step()
	select {
	case <-c.done:
	case <-time.After(patience):
	}
	c.fill(&step)
	got := step.outcome()
	if slices.Contains(outcomes, got) {
		step.Kind, step.Fields = strings.Join(outcomes, " or "), nil
	} else {
		step.Mismatch = fmt.Sprintf("%s, the reference says %v", got, outcomes)
	}
	c.conn.script.steps = append(c.conn.script.steps, step)
}

// Silent records that no answer comes within d, and leaves the call open. An answer that does come is recorded.
func (c *Call) Silent(d time.Duration) {
	step := c.step()
	select {
	case <-c.done:
		c.fill(&step)
		step.Mismatch = "answered, the reference says parked"
	case <-time.After(d):
		step.Kind = "parked"
		c.awaitParked()
	}
	c.conn.script.steps = append(c.conn.script.steps, step)
}

// awaitParked makes sure that a join that has no answer has at least been taken up: on a loaded machine it may still be
// on its way, and what follows would meet the group as it was before.
func (c *Call) awaitParked() {
	if c.member == nil {
		return
	}
	c.conn.script.until("a join to be parked", func() bool {
		select {
		case <-c.done:
			return true
		default:
			return c.member.g.describe().State == "PreparingRebalance"
		}
	})
}

// Settle records whatever has come within d: an answer, the end of the connection, or nothing.
func (c *Call) Settle(d time.Duration) kmsg.Response {
	step := c.step()
	select {
	case <-c.done:
	case <-time.After(d):
	}
	resp := c.fill(&step)
	c.conn.script.steps = append(c.conn.script.steps, step)
	return resp
}

// Between is Answer for an answer that a timer gives: counted from start it must come no earlier than lo and not much
// later than hi.
func (c *Call) Between(start time.Time, lo, hi time.Duration) kmsg.Response {
	resp := c.settle("", "")
	took := c.at.Sub(start)
	s := c.conn.script
	switch {
	case took < lo-lo/10:
		s.last().Kind = "early answer"
		s.last().Mismatch = fmt.Sprintf("answered after %v, the timer says %v", took.Round(time.Millisecond), lo)
	case took > hi+slack:
		s.last().Kind = "late answer"
		s.last().Mismatch = fmt.Sprintf("answered after %v, the timer says %v", took.Round(time.Millisecond), hi)
	}
	return resp
}

// Diverges records a step at which the daemon differs on purpose. id is an entry of docs/divergences.md; kafka and
// ours are what that entry says of each side: "none" (no answer within d), "closed" or the error code, e.g. "16".
func (c *Call) Diverges(id, kafka, ours string, d time.Duration) kmsg.Response {
	step := c.step()
	step.Divergence, step.Want = id, kafka
	if c.conn.script.target.Daemon {
		step.Want = ours
	}
	if step.Want != "none" {
		d = patience
	}
	select {
	case <-c.done:
	case <-time.After(d):
	}
	resp := c.fill(&step)
	c.conn.script.steps = append(c.conn.script.steps, step)
	return resp
}

func (c *Call) settle(id, want string) kmsg.Response {
	s := c.conn.script
	step := c.step()
	step.Divergence, step.Want = id, want
	select {
	case <-c.done:
	case <-time.After(patience):
	}
	resp := c.fill(&step)
	s.steps = append(s.steps, step)
	if resp == nil {
		s.stop("%s: %s", c.label, step.Kind)
	}
	return resp
}

func (c *Call) step() Step {
	st := Step{Label: c.label}
	if c.request != nil {
		st.Request = c.conn.script.norm.flatten(c.request)
	}
	return st
}

// fill puts the outcome as it stands into the step and returns the answer, or nil.
func (c *Call) fill(step *Step) kmsg.Response {
	select {
	case <-c.done:
	default:
		step.Kind = "no answer"
		return nil
	}
	if c.closed {
		step.Kind = "closed"
		return nil
	}
	if c.disorder != "" {
		step.Kind = "out of order: " + c.disorder
		return nil
	}
	resp, exact, err := c.response()
	if err != nil {
		step.Kind = fmt.Sprintf("bad answer: %v: % x", err, c.body[:min(len(c.body), 64)])
		return nil
	}
	step.Kind = "answer"
	n := c.conn.script.norm
	n.canonical(c.request, resp)
	step.Fields = n.flatten(resp)
	if !exact {
		step.Fields = append(step.Fields, Field{"(encoding)", "not what the message definition gives"})
	}
	return resp
}

// outcome is the short form of a step that divergences are written in.
func (st *Step) outcome() string {
	switch st.Kind {
	case "no answer", "parked":
		return "none"
	case "answer":
		var out []string
		for _, f := range st.Fields {
			if f.Path == "ErrorCode" || strings.HasSuffix(f.Path, ".ErrorCode") {
				out = append(out, f.Value)
			}
		}
		return strings.Join(out, ",")
	}
	return st.Kind
}
