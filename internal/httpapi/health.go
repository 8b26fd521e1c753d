package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/schema"
)

// Check is one thing that must work before the server is ready: the database, the homeserver, the inbox.
type Check struct {
	Name string
	Run  func(ctx context.Context) error // its error is logged, and never shown
}

// checkTimeout is how long all checks together may take.
const checkTimeout = 5 * time.Second

// healthz says that the process answers.
func (s *server) healthz(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readyz runs every check at once: 200, or 503 with the names of those that failed.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	results := make([]error, len(s.Checks))
	var all sync.WaitGroup
	for i, c := range s.Checks {
		all.Go(func() { results[i] = c.Run(ctx) })
	}
	all.Wait()
	passed := map[string]string{}
	problem := newProblem(codeNotReady, "Some of what the server needs does not work.")
	for i, err := range results {
		name := s.Checks[i].Name
		if err == nil {
			passed[name] = "ok"
			continue
		}
		zerolog.Ctx(r.Context()).Warn().Err(err).Str("check", name).Msg("Not ready")
		problem.Errors = append(problem.Errors, schema.Fault{Rule: schema.Rule(codeNotReady), Keyword: name, Reason: "does not work"})
	}
	if len(problem.Errors) > 0 {
		return problem
	}
	return reply(w, http.StatusOK, map[string]any{"status": "ready", "checks": passed})
}
