package matrix

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The bot has its configured name before it joins anything, and is renamed only if it has to be.
func TestDisplayName(t *testing.T) {
	for name, c := range map[string]struct {
		configured, has string
		want            []string // of the calls after the versions
	}{
		"new":         {"Questions", "questions", []string{"GET", "PUT Questions", "join"}},
		"no profile":  {"Questions", "", []string{"GET", "PUT Questions", "join"}},
		"right":       {"Questions", "Questions", []string{"GET", "join"}},
		"not to set":  {"", "questions", []string{"join"}},
		"not allowed": {"Questions", "forbidden", []string{"GET", "PUT Questions", "join", "GET", "PUT Questions"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(cfg *Config) { cfg.DisplayName, cfg.Invite = c.configured, []string{"*"} })
			r.server.addRoom("!other:ex.org", "@root:ex.org")
			var calls []string
			r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
				switch {
				case strings.Contains(req.URL.Path, "/join/"):
					calls = append(calls, "join")
					return false
				case !strings.HasSuffix(req.URL.Path, "/profile/"+bot+"/displayname"):
					return false
				case req.Method == http.MethodGet && c.has == "":
					w.WriteHeader(404)
					_, _ = fmt.Fprint(w, `{"errcode":"M_NOT_FOUND"}`)
					calls = append(calls, "GET")
				case req.Method == http.MethodGet:
					_, _ = fmt.Fprintf(w, `{"displayname":%q}`, c.has)
					calls = append(calls, "GET")
				default:
					var body struct{ DisplayName string }
					_ = json.NewDecoder(req.Body).Decode(&body)
					calls = append(calls, "PUT "+body.DisplayName)
					if c.has == "forbidden" {
						w.WriteHeader(403)
						_, _ = fmt.Fprint(w, `{"errcode":"M_FORBIDDEN"}`)
						return true
					}
					_, _ = fmt.Fprint(w, `{}`)
				}
				return true
			})
			r.put("1", r.invite("!other:ex.org", "@root:ex.org"))
			r.work()
			_, err := r.Connect(t.Context())
			noError(t, err)
			if !slices.Equal(calls, c.want) {
				t.Errorf("called %q, want %q", calls, c.want)
			}
		})
	}
}
