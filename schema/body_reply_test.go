package schema_test

import (
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

// What a body of ours says where a reply may approve: the whole preview, the subject by id, revision and digest, and that.
func TestBodyThatAReplyCanApprove(t *testing.T) {
	all := readExamples(t)
	for _, c := range []struct{ name, text, html string }{
		{
			"subject-bound: a strict decision with a complete preview",
			"An agent is waiting on you — \"Upgrade the build image\" at stage `build`.\n\nEdit app.js in the workspace?\n\n" +
				"```\nEdit app.js in the workspace\n```\n\nFile: app.js · edit · 16 bytes\n\n```\nconsole.log(1);\n\n```\n\n" +
				"1. Approve\n2. Approve for this run\n3. Always allow\n4. Deny\n\n" +
				"Reply with the number, or the option's name. [Open the card](https://superpipeline.dev/b/brd_7c1f/c/crd_51d0)\n\n" +
				"This approves an exact operation, and all of it is shown above: subject `8f9a0d0e-4b2a-4c1e-9c55-1a2b3c4d5e6f`, revision 1, " +
				"digest `0588c96c7eff47e1a83d9fc1d0ecda3cc3b72e559a5c402bb9da29d9851dbceb`. A reply here can approve or decline it.",
			"<p>An agent is waiting on you — \"Upgrade the build image\" at stage <code>build</code>.</p><p>Edit app.js in the workspace?</p>" +
				"<pre><code>Edit app.js in the workspace</code></pre><p><strong>File:</strong> app.js · edit · 16 bytes</p><pre><code>console.log(1);\n</code></pre>" +
				"<p>1. Approve<br>2. Approve for this run<br>3. Always allow<br>4. Deny</p>" +
				"<p>Reply with the number, or the option's name. <a href=\"https://superpipeline.dev/b/brd_7c1f/c/crd_51d0\">Open the card</a></p>" +
				"<p>This approves an exact operation, and all of it is shown above: subject <code>8f9a0d0e-4b2a-4c1e-9c55-1a2b3c4d5e6f</code>, revision 1, " +
				"digest <code>0588c96c7eff47e1a83d9fc1d0ecda3cc3b72e559a5c402bb9da29d9851dbceb</code>. A reply here can approve or decline it.</p>",
		},
		{
			"built: a SuperToolkit approval request",
			"A SuperToolkit approval request is waiting on a workspace owner or admin.\n\nAllow github issues.create on acme/site?\n\n" +
				"Post:\n```\nOur next release ships today.\n```\n\nAccount: @fixture_account on X\n\n1. Allow once\n2. Deny\n\n" +
				"Only workspace owners and admins can allow this, and all of it is shown above: subject `stkreq_8f2c`, revision 1, digest `sha256:9a1e`. A reply here can allow or deny it.",
			"<p>A SuperToolkit approval request is waiting on a workspace owner or admin.</p><p>Allow github issues.create on acme/site?</p>" +
				"<p><strong>Post:</strong></p><pre><code>Our next release ships today.</code></pre><p><strong>Account:</strong> @fixture_account on X</p><p>1. Allow once<br>2. Deny</p>" +
				"<p>Only workspace owners and admins can allow this, and all of it is shown above: subject <code>stkreq_8f2c</code>, revision 1, digest <code>sha256:9a1e</code>. A reply here can allow or deny it.</p>",
		},
	} {
		e, err := decodeEvent(all.find(t, c.name).Content)
		if err != nil {
			t.Fatal(err)
		}
		before := e.Body
		e.ByReply = true
		if got := e.TextBody(); got != c.text {
			t.Errorf("%s\ngot  %q\nwant %q", c.name, got, c.text)
		}
		if got := e.HTMLBody(); got != c.html {
			t.Errorf("%s\ngot  %s\nwant %s", c.name, got, c.html)
		}
		built := mustBuild(t, e)
		if built["body"] != c.text || built["formatted_body"] != c.html {
			t.Errorf("%s: built with the body %q", c.name, built["body"])
		}
		e.ByReply = false
		if mustBuild(t, e)["body"] != before {
			t.Errorf("%s: without it the body is not the published one any more", c.name)
		}
	}
}

// Whatever a body cannot show whole keeps its promise that a reply only declines.
func TestBodyThatShowsNoSubject(t *testing.T) {
	name := "subject-bound: a strict decision with a complete preview"
	subject := func(change func(s *schema.Subject)) *schema.Elicitation {
		e, err := decodeEvent(readExamples(t).find(t, name).Content)
		if err != nil {
			t.Fatal(err)
		}
		change(e.Subject)
		return e
	}
	for what, e := range map[string]*schema.Elicitation{
		"an incomplete preview": subject(func(s *schema.Subject) { s.PreviewComplete = false }),
		"an empty preview":      subject(func(s *schema.Subject) { s.Preview = nil }),
		"a link": subject(func(s *schema.Subject) {
			s.Preview[1] = schema.PreviewItem{Type: "link", Label: "a", URL: "https://ex.org"}
		}),
		"a line break in a value":       subject(func(s *schema.Subject) { s.Preview[1].Value = "rm\n-rf" }),
		"a line separator in a label":   subject(func(s *schema.Subject) { s.Preview[1].Label = "a\u2028b" }),
		"a line break in the subject":   subject(func(s *schema.Subject) { s.ID = "a\nb" }),
		"a control character in digest": subject(func(s *schema.Subject) { s.Digest = "a\tb" }),
		"no subject":                    {Question: "May I?", Options: []schema.Option{{ID: "a", Label: "A", Meaning: schema.Approve}}},
	} {
		without := e.TextBody()
		e.ByReply = true
		if e.ShowsSubject() || e.TextBody() != without || strings.Contains(without, "can approve") {
			t.Errorf("%s: %q", what, e.TextBody())
		}
	}
	e := subject(func(*schema.Subject) {})
	e.ByReply = true
	if text, _ := e.SettledBody("Expired."); strings.Contains(text, "console.log") || strings.Contains(text, "can approve") {
		t.Errorf("settled, it still says %q", text)
	}
	e.Options = e.Options[3:] // nothing that approves is left
	if text := e.TextBody(); !strings.HasSuffix(text, "A reply here can choose any of the options.") {
		t.Errorf("nothing approves: %q", text)
	}
}
