package matrix

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The bot gets the configured name once. A homeserver that takes none, or has no profiles, keeps nothing else from
// working.
func TestTheBotIsNamed(t *testing.T) {
	var now string
	set, refuse := 0, false
	r := newRig(t, func(c *Config) { c.DisplayName = "Questions" })
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !strings.HasSuffix(req.URL.Path, "/profile/"+bot+"/displayname") {
			return false
		}
		switch {
		case refuse:
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"errcode":"M_FORBIDDEN","error":"no names here"}`)
		case req.Method == http.MethodPut:
			var body struct{ DisplayName string }
			_ = json.NewDecoder(req.Body).Decode(&body)
			now = body.DisplayName
			set++
			_, _ = fmt.Fprint(w, `{}`)
		case now == "":
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"errcode":"M_NOT_FOUND","error":"no profile"}`)
		default:
			_, _ = fmt.Fprintf(w, `{"displayname":%q}`, now)
		}
		return true
	})
	for range 2 {
		_, err := r.Connect(t.Context())
		noError(t, err)
	}
	if now != "Questions" || set != 1 {
		t.Errorf("named %q, %d times", now, set)
	}
	refuse = true
	_, err := r.Connect(t.Context())
	noError(t, err)
}
