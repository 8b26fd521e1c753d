package schema_test

import (
	"bytes"
	"strings"
	"testing"
)

func TestBodies(t *testing.T) {
	for _, c := range readBodies(t) {
		e := decodeDraft(t, c.Content)
		t.Run(c.Case+"/text", func(t *testing.T) {
			if got := e.TextBody(); got != c.Body {
				t.Errorf("got  %q\nwant %q", got, c.Body)
			}
		})
		t.Run(c.Case+"/html", func(t *testing.T) {
			if got := e.HTMLBody(); got != c.FormattedBody {
				t.Errorf("got  %s\nwant %s", got, c.FormattedBody)
			}
		})
	}
}

// A22, outbound: what cannot be seen is written out in the body and nowhere else.
func TestA22OutboundTextIsStoredAsItCame(t *testing.T) {
	for _, c := range readBodies(t) {
		if !strings.HasPrefix(c.Case, "A22") && !strings.HasPrefix(c.Case, "16") || bytes.Contains(c.Content, []byte(`\u0000`)) {
			continue // U+0000 is refused in events that we build, see built.json
		}
		t.Run(c.Case, func(t *testing.T) {
			e := decodeDraft(t, c.Content)
			before := canonical(t, c.Content)
			built := mustBuild(t, e)
			for _, name := range []string{"body", "format", "formatted_body", "m.mentions"} {
				delete(built, name)
			}
			if after := canonicalTree(t, built); after != before {
				t.Errorf("building changed the content\ngot  %s\nwant %s", after, before)
			}
		})
	}
}

// B13: no text of an asker pings anyone, and each option is one line. What the bodies say is in bodies.json.
func TestB13NobodyIsPinged(t *testing.T) {
	for _, c := range readBodies(t) {
		if !strings.HasPrefix(c.Case, "B13") || strings.Contains(c.Case, "label of spaces") || strings.Contains(c.Case, "empty label") {
			continue // a blank label is refused in events that we build, see built.json
		}
		t.Run(c.Case, func(t *testing.T) {
			e := decodeDraft(t, c.Content)
			built := mustBuild(t, e)
			if got := canonicalTree(t, built["m.mentions"]); got != "{}" {
				t.Errorf("m.mentions is %s, want {}", got)
			}
			checkOptionLines(t, e)
		})
	}
}
