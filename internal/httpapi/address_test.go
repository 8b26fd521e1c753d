package httpapi_test

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
)

// Signing in has a pace for each address that it is tried from. What a client says of its address counts only where a
// proxy of ours says it.
func TestPaceOfSigningIn(t *testing.T) {
	for name, c := range map[string]struct {
		proxies []string
		same    [][]string // what X-Forwarded-For says of one and the same address
		other   []string
	}{
		"without a proxy": {nil, [][]string{{}, {"203.0.113.1"}, {"203.0.113.2"}}, nil},
		"behind a proxy": {
			[]string{"127.0.0.0/8", "::1/128"},
			[][]string{{"203.0.113.1"}, {"10.0.0.1, 203.0.113.1"}, {"203.0.113.9", "203.0.113.1:4711"}, {"::ffff:203.0.113.1"}, {"203.0.113.1, 127.0.0.9"}},
			[]string{"203.0.113.1, 203.0.113.2"},
		},
		"behind two proxies": {
			[]string{"127.0.0.0/8", "::1/128", "10.0.0.0/8"}, [][]string{{"203.0.113.1, 10.0.0.1"}, {"203.0.113.7, 203.0.113.1, 10.0.0.2"}}, []string{"203.0.113.2, 10.0.0.1"},
		},
		"by IPv6": {
			[]string{"127.0.0.0/8", "::1/128"}, [][]string{{"2001:db8:1:2::1"}, {"[2001:db8:1:2:ffff::9]:443"}, {"2001:db8:1:2::3%eth0"}}, []string{"2001:db8:1:3::1"},
		},
		"behind a proxy that says nothing to be read": {[]string{"127.0.0.0/8", "::1/128"}, [][]string{{}, {"unknown"}, {"203.0.113.1, _hidden"}}, []string{"203.0.113.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLobby(t, func(cfg *httpapi.Config, _ *bridge.Parts) {
				cfg.Limits.SignIn = httpapi.Pace{PerMinute: 60, Burst: 1}
				for _, p := range c.proxies {
					cfg.Proxies = append(cfg.Proxies, netip.MustParsePrefix(p))
				}
			})
			from := func(forwarded []string) answer {
				return l.send("POST", signInPath, "", openIDBody("dana-1"), http.Header{"X-Forwarded-For": forwarded})
			}
			for i, first := range c.same {
				if a := from(first); a.status == http.StatusTooManyRequests {
					t.Fatalf("%q: %s", first, a.body)
				}
				for _, again := range c.same {
					l.tooMany(from(again), "rate_limited")
				}
				if i == 0 && c.other != nil {
					if a := from(c.other); a.status == http.StatusTooManyRequests {
						t.Errorf("%q: %s", c.other, a.body)
					}
				}
				l.clock.Move(time.Second)
			}
		})
	}
}
