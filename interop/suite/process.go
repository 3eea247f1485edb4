package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/coordinatord/coordinatord/internal/realkafka"

	"github.com/coordinatord/coordinatord/interop/member"
)

// A process is one member of a group: one run of a driver.
type process struct {
	name string
	proc *realkafka.Process
	read chan struct{} // Closed once all it printed is in the journal.
	log  string        // The file of its standard error.
}

// start runs a client as a member. Its lines go to the journal, its standard
// error to a file in dir.
func start(c *Client, j *journal, dir, bootstrap, topic, group, name, instance string) (*process, error) {
	cmd := c.Command(bootstrap, topic, group, name, instance)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "INTEROP_STATE="+dir)
	p := &process{name: name, log: filepath.Join(dir, name+".log"), read: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // The child has its own.
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = in, log
	p.proc, err = realkafka.StartProcess(cmd)
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	go func() {
		defer close(p.read)
		defer func() { _ = out.Close() }()
		p.collect(out, j)
		// Wakes who waits for something that this process will not print.
		j.add(entry{member: p.name, line: member.Line{Event: "end"}})
	}()
	return p, nil
}

// keyLength is what kcat tells of a key, -1 for none.
var keyLength = regexp.MustCompile(`"keylen":(-?\d+),`)

func (p *process) collect(r io.Reader, j *journal) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		text := lines.Bytes()
		var l member.Line
		// A process that is killed may leave half a line.
		if err := json.Unmarshal(text, &l); err != nil {
			continue
		}
		if m := keyLength.FindSubmatch(text); m != nil && string(m[1]) == "-1" {
			l.Key = nil
		}
		j.add(entry{at: timeOf(l), member: p.name, line: l})
	}
}

// kill ends the process with SIGKILL; afterwards all it printed is in the
// journal.
func (p *process) kill() {
	p.proc.Kill()
	<-p.read
}

// stop ends the process with SIGTERM. It is an error when the status is not 0
// or it takes too long.
func (p *process) stop(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := p.proc.Stop(ctx)
	<-p.read
	if err == nil {
		err = p.proc.Err()
	}
	if err != nil {
		return fmt.Errorf("%s did not close cleanly: %w%s", p.name, err, p.lastWords())
	}
	return nil
}

// running is an error when the process ended by itself.
func (p *process) running() error {
	select {
	case <-p.proc.Done():
		if err := p.proc.Err(); err != nil {
			return fmt.Errorf("%s ended by itself: %w%s", p.name, err, p.lastWords())
		}
		return fmt.Errorf("%s ended by itself, with status 0%s", p.name, p.lastWords())
	default:
		return nil
	}
}

// lastWords are the last lines of the standard error, for a report.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil || len(text) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "; its last words: " + strings.Join(lines[max(0, len(lines)-5):], " | ")
}
