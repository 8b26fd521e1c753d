package app

import "testing"

func TestReachable(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:29330": "127.0.0.1:29330", ":29330": "127.0.0.1:29330", "0.0.0.0:29330": "127.0.0.1:29330", "[::]:29330": "[::1]:29330",
		"10.1.2.3:29330": "10.1.2.3:29330", "bridge.internal:29330": "bridge.internal:29330", "[::1]:1": "[::1]:1",
	} {
		if got := reachable(listen); got != want {
			t.Errorf("%s is reached at %s", listen, got)
		}
	}
}
