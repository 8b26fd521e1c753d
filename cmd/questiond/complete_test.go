package main

import (
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"tok":                             "token\tMake, list and revoke the tokens of agents, and of people who answer\n:4\n",
		"token add ci --scopes ":          "ask\nread\nread:room\ncancel\nqueue\ngate\n:6\n",
		"token add ci --scopes ask,":      "ask,read\nask,read:room\nask,cancel\nask,queue\nask,gate\n:6\n",
		"token add ci --scopes=read,ask,": "read,ask,read:room\nread,ask,cancel\nread,ask,queue\nread,ask,gate\n:6\n",
		"token add ci --expires ":         ":4\n",
		"token add ci --config ":          ":0\n", // files
		"serve -c ":                       ":0\n",
		"registration --output ":          ":0\n",
		"demo --data ":                    ":0\n",
		"completion ":                     "bash\nzsh\nfish\n:4\n",
	} {
		if got := call(t, append([]string{"__complete"}, strings.Split(args, " ")...)...); got.code != 0 || got.out != want {
			t.Errorf("%q is offered %q", args, got.out)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if got := call(t, "completion", shell); got.code != 0 || !strings.Contains(got.out, "questiond") || got.err != "" {
			t.Errorf("%s: %+v", shell, got)
		}
	}
}
