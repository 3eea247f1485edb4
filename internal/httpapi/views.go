package httpapi

import (
	"context"
	"errors"
	"net/http"

	"go.uber.org/zap"
)

type views struct {
	src Source
	log *zap.Logger
}

// live says that the process answers; nothing that another process could fix is looked at, or a restart would be asked
// for where it helps nobody.
func (v *views) live(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]bool{"live": true})
}

func (v *views) ready(w http.ResponseWriter, _ *http.Request) {
	reasons := v.src.Reasons()
	if len(reasons) > 0 {
		write(w, http.StatusServiceUnavailable, Readiness{Reasons: reasons})
		return
	}
	write(w, http.StatusOK, Readiness{Ready: true, Reasons: []string{}})
}

func (v *views) cluster(w http.ResponseWriter, _ *http.Request) {
	c := v.src.Cluster()
	if c.Nodes == nil {
		c.Nodes = []Node{}
	}
	write(w, http.StatusOK, c)
}

func (v *views) kafka(w http.ResponseWriter, _ *http.Request) {
	k := v.src.Kafka()
	if k.Brokers == nil {
		k.Brokers = []int32{}
	}
	write(w, http.StatusOK, k)
}

func (v *views) groups(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), viewTimeout)
	defer cancel()
	list, err := v.src.Groups(ctx)
	if err != nil {
		v.fail(w, r, err)
		return
	}
	if list == nil {
		list = []GroupSummary{}
	}
	write(w, http.StatusOK, Groups{list})
}

func (v *views) group(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), viewTimeout)
	defer cancel()
	name := r.PathValue("group")
	g, ok, err := v.src.Group(ctx, name)
	switch {
	case err != nil:
		v.fail(w, r, err)
	case !ok:
		write(w, http.StatusNotFound, Problem{"there is no group " + name})
	default:
		if g.Members == nil {
			g.Members = []Member{}
		}
		if g.Offsets == nil {
			g.Offsets = []Offset{}
		}
		for i := range g.Members {
			if g.Members[i].Assignment == nil {
				g.Members[i].Assignment = []TopicPartition{}
			}
		}
		write(w, http.StatusOK, g)
	}
}

func (v *views) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		w.Header().Set("Retry-After", "1")
		write(w, http.StatusServiceUnavailable, Problem{err.Error()})
		return
	}
	v.log.Warn("a view failed", zap.String("path", r.URL.Path), zap.Error(err))
	write(w, http.StatusInternalServerError, Problem{err.Error()})
}
