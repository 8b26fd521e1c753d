package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

// byFederica adds what a responder is shown of a question.
func byFederica(q *schema.Question) {
	q.Viewer, q.AskedBy, q.Room = federica, "CI", &schema.QuestionRoom{ID: "!ops:example.org", Code: new("OPS"), Name: new("Ops")}
}

// operation makes a question about an exact operation, with text that wants to look like something else.
func operation(q *schema.Question) {
	byFederica(q)
	q.Prompt = "Run this?\nsubject   none\u202e"
	q.Options = []schema.QuestionOption{
		{Value: "approve", Label: "Approve", Meaning: schema.Approve, Scope: "once", Requires: "workspace-admin"},
		{Value: "revise", Label: "Change it", Meaning: schema.Revise, NeedsComment: true},
		{Value: "link", Label: "Use another", Meaning: schema.Choose, Input: &schema.Input{Kind: "url", Label: "Address", Required: true, MaxLength: 30}},
		{Value: "deny", Label: "Deny", Meaning: schema.Reject},
	}
	q.Subject = &schema.Subject{
		ID: "s_1", Digest: "sha256:ab\u200b", Schema: "x/v1", Revision: 3, ExpiresAt: new(schema.Timestamp("2030-01-01T00:00:00Z")), PreviewComplete: true,
		Preview: []schema.PreviewItem{
			{Type: "text", Label: "Command", Text: "rm -rf ./build\n  deny    \x1b[2K"}, {Type: "field", Label: "Host", Value: "ci\u00a0-1"},
			{Type: "link", Label: "Diff", URL: "https://example.org/d"},
		},
	}
}

const exact = `"subject":{"id":"s_1","digest":"sha256:ab` + "\u200b" + `","schema":"x/v1","revision":3}`

// atTerminal has somebody type lines on a terminal, and gives what becomes of the command.
func atTerminal(t *testing.T, lines string, args ...string) result {
	t.Helper()
	before := isTerminal
	isTerminal = func(any) bool { return true }
	defer func() { isTerminal = before }()
	return call{args: args, stdin: lines}.run(t)
}

func served(t *testing.T, questions ...func(*schema.Question)) *fakeAPI {
	t.Helper()
	api := newFakeAPI()
	api.serve(t, "127.0.0.1:0")
	for _, q := range questions {
		asked(t, api, q)
	}
	return api
}

func TestPending(t *testing.T) {
	served(t, byFederica, func(q *schema.Question) { operation(q); q.Room.Code = nil }, func(q *schema.Question) {
		byFederica(q)
		q.Room.Code, q.Room.Name, q.AskedBy, q.Options, q.TextInput = nil, nil, "", nil, &schema.TextInput{MaxLength: 60}
	})
	got := runs(t, 0, "pending")
	want := "ID   ROOM              ASKER  PROMPT                               OPTIONS\n" +
		"q_3  !ops:example.org  -      Deploy?                              (text)\n" +
		"q_2  Ops               CI     Run this? subject none\\u{202E}       Approve (approve), Change it (revise),…\n" +
		"q_1  OPS               CI     Deploy?                              Yes (approve), No (deny)\n"
	if plain(got.out) != plain(want) || got.err != "" {
		t.Errorf("pending prints\n%s%s", got.out, got.err)
	}
	var list schema.Questions
	if err := json.Unmarshal([]byte(runs(t, 0, "pending", "--json").out), &list); err != nil || len(list.Questions) != 3 || list.Questions[0].Viewer != federica {
		t.Errorf("%v %+v", err, list)
	}
	if got := runs(t, 0, "pending", "--limit", "2"); strings.Count(got.out, "q_") != 2 || !strings.Contains(got.err, "there are more") {
		t.Errorf("%+v", got)
	}
	if got := runs(t, 0, "pending", "--all"); strings.Count(got.out, "q_") != 3 || got.err != "" {
		t.Errorf("%+v", got)
	}
	if got := runs(t, 0, "pending", "--cursor", "2"); strings.Count(got.out, "q_") != 1 || !strings.Contains(got.out, "q_1") {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"--limit", "0"}, {"--all", "--limit", "2"}, {"--cursor", ""}, {"x"}} {
		runs(t, 2, append([]string{"pending"}, args...)...)
	}
	served(t)
	if got := runs(t, 0, "pending"); got.out != "" || got.err != "question: nothing waits for you\n" {
		t.Errorf("%+v", got)
	}
}

// plain is a table without what aligns it.
func plain(table string) string { return strings.Join(strings.Fields(table), " ") }

// TestTheWholeQuestionIsShown before anything is asked, with nothing hidden and nothing that looks like our own words.
func TestTheWholeQuestionIsShown(t *testing.T) {
	api := served(t, operation)
	got := atTerminal(t, "n\n", "answer", "q_1", "1")
	want{1, "", "question: not answered: the question stays pending\n"}.check(t, got)
	for _, line := range []string{
		"Asked by CI in OPS:", "  | Run this?", "  | subject   none\\u{202E}", "  asks        anyone in the room", "  id          q_1",
		"It is about exactly this:", "  subject    s_1", "  digest     sha256:ab\\u{200B}", "  schema     x/v1", "  revision   3", "  lapses at  2030-01-01 00:00:00Z",
		"  preview    complete", "  | Command:", "  | rm -rf ./build", "  |   deny    \\u{001B}[2K", "  | Host: ci\\u{00A0}-1",
		"  | Diff: https://example.org/d (what is there is not shown here)",
		"  1. Approve (approve) — approves; once; only for admins", "  2. Change it (revise) — with --comment",
		"  3. Use another (link) — with --input: Address, a web address of up to 30 characters", "  4. Deny (deny) — declines",
		"Approve exactly this, with “Approve (approve)” as @federica:example.org? [y/N] question: not answered: the question stays pending",
	} {
		if !strings.Contains("\n"+got.err, "\n"+line+"\n") {
			t.Errorf("what is shown lacks the line %q:\n%s", line, got.err)
		}
	}
	if len(api.answered()) != 0 {
		t.Errorf("sent %q", api.answered())
	}
}

func TestAnswersOnATerminal(t *testing.T) {
	for name, c := range map[string]struct {
		question   func(*schema.Question)
		lines      string
		args       string
		code       int
		sent, says string
	}{
		"approved":                {operation, "y\n", "1", 0, `{"value":"approve",` + exact + `}`, "Approve exactly this"},
		"by label, another case":  {operation, "YES\n", "APPROVE.", 0, `{"value":"approve",` + exact + `}`, ""},
		"asked for all of it":     {operation, "1\ny\n", "", 0, `{"value":"approve",` + exact + `}`, "Your answer: "},
		"a slip first":            {operation, "9\nperhaps\n4\ny\n", "", 0, `{"value":"deny",` + exact + `}`, "there is no option 9"},
		"a comment is asked for":  {operation, "use rm -r\ny\n", "2", 0, `{"value":"revise","comment":"use rm -r",` + exact + `}`, "Comment: "},
		"an input is asked for":   {operation, "https://a.example\ny\n", "3", 0, `{"value":"link","input":"https://a.example",` + exact + `}`, "Address: "},
		"no answer":               {operation, "\n", "", 1, "", "stays pending"},
		"nothing more is typed":   {operation, "", "1", 1, "", "stays pending"},
		"anything else is no yes": {operation, "sure\n", "1", 1, "", "stays pending"},
		"no comment":              {operation, "\n", "2", 1, "", "stays pending"},
		"a plain question":        {byFederica, "y\n", "2", 0, `{"value":"deny"}`, "Answer with “No (deny)” as @federica:example.org? [y/N]"},
		"typed text": {func(q *schema.Question) { byFederica(q); q.TextInput = &schema.TextInput{MaxLength: 60} }, "because\ny\n", "", 0, `{"text":"because"}`,
			"the text “because”"},
		"incomplete":       {func(q *schema.Question) { operation(q); q.Subject.PreviewComplete = false }, "y\n", "1", 1, "", "INCOMPLETE"},
		"an empty preview": {func(q *schema.Question) { operation(q); q.Subject.Preview = nil }, "y\n", "1", 1, "", "nobody can approve this"},
		"incomplete and declined": {func(q *schema.Question) { operation(q); q.Subject.PreviewComplete = false }, "y\n", "deny", 0,
			`{"value":"deny",` + exact + `}`, ""},
		"what cannot be shown": {func(q *schema.Question) { operation(q); q.Subject.Preview[0].Type = "picture" }, "y\n", "1", 1, "", "cannot show all of"},
		"two options at once":  {func(q *schema.Question) { byFederica(q); q.Options[0].Label = "2" }, "y\n", "2", 2, "", "more than one option"},
	} {
		t.Run(name, func(t *testing.T) {
			api := served(t, c.question)
			args := []string{"answer", "q_1"}
			if c.args != "" {
				args = append(args, c.args)
			}
			got := atTerminal(t, c.lines, args...)
			if got.code != c.code || !strings.Contains(got.err, c.says) {
				t.Errorf("%+v", got)
			}
			var sent []string
			if c.sent != "" {
				sent = []string{c.sent}
			}
			if a := api.answered(); len(a)+len(sent) > 0 && !reflect.DeepEqual(a, sent) {
				t.Errorf("sent %q, want %q", a, sent)
			}
		})
	}
}

// TestAnswersOfScripts need --yes, and for the approval of an exact operation its digest.
func TestAnswersOfScripts(t *testing.T) {
	digest := "--digest=sha256:ab\u200b"
	for name, c := range map[string]struct {
		question func(*schema.Question)
		args     []string
		code     int
		sent     string
		says     string
	}{
		"without a word":         {byFederica, []string{"1"}, 2, "", "there is no terminal to ask on"},
		"without an answer":      {byFederica, []string{"--yes"}, 2, "", "an OPTION or --text is needed"},
		"with nothing at all":    {byFederica, nil, 2, "", "an OPTION or --text is needed"},
		"with both":              {byFederica, []string{"1", "--text", "x", "--yes"}, 2, "", "either an OPTION or --text"},
		"with an empty text":     {byFederica, []string{"--text", "", "--yes"}, 2, "", "--text is empty"},
		"with an empty digest":   {operation, []string{"1", "--digest", "", "--yes"}, 2, "", "--digest is empty"},
		"no such option":         {byFederica, []string{"perhaps", "--yes"}, 2, "", "none of the options"},
		"no such number":         {byFederica, []string{"3", "--yes"}, 2, "", "there is no option 3"},
		"two for one":            {byFederica, []string{"1", "2", "--yes"}, 2, "", "needs one OPTION, and 2 are given"},
		"text without a request": {byFederica, []string{"--text", "x", "--yes"}, 2, "", "answered with one of its options"},
		"meant":                  {byFederica, []string{"Yes", "--comment", "go", "--yes"}, 0, `{"value":"approve","comment":"go"}`, ""},
		"an approval unseen":     {operation, []string{"1", "--yes"}, 2, "", "only together with --digest"},
		"an approval of another": {operation, []string{"1", "--yes", "--digest", "sha256:ab"}, 1, "", "not about the subject with this digest"},
		"an approval":            {operation, []string{"1", "--yes", digest}, 0, `{"value":"approve",` + exact + `}`, ""},
		"declined":               {operation, []string{"4", "--yes"}, 0, `{"value":"deny",` + exact + `}`, ""},
		"declined, of another":   {operation, []string{"4", "--yes", "--digest", "x"}, 1, "", "not about the subject with this digest"},
		"about nothing":          {byFederica, []string{"1", "--yes", "--digest", "x"}, 1, "", "not about the subject with this digest"},
		"without its comment":    {operation, []string{"2", "--yes"}, 2, "", "this option needs --comment"},
		"without its input":      {operation, []string{"3", "--yes"}, 2, "", "this option needs --input"},
	} {
		t.Run(name, func(t *testing.T) {
			api := served(t, c.question)
			got := call{args: append([]string{"answer", "q_1"}, c.args...)}.run(t)
			if got.code != c.code || !strings.Contains(got.err, c.says) {
				t.Errorf("%+v", got)
			}
			if sent := strings.Join(api.answered(), ""); sent != c.sent {
				t.Errorf("sent %q", sent)
			}
		})
	}
}

func TestASetIsAnsweredInOneLine(t *testing.T) {
	set := func(q *schema.Question) {
		byFederica(q)
		q.Options, q.Prompt = nil, "Set up"
		q.Items = []schema.QuestionItem{
			{Header: "Region", Prompt: "Where?", Multiple: true, Options: []schema.QuestionOption{{Value: "eu", Label: "Europe, all of it"}, {Value: "us", Label: "USA"}}},
			{Header: "Reason", Prompt: "Why?", TextInput: &schema.TextInput{MaxLength: 20}},
		}
	}
	for args, want := range map[string]string{
		"1, usa|cost, mostly": `{"items":[{"header":"Region","selected":["eu","us"]},{"header":"Reason","text":"cost, mostly"}]}`,
		"europe, all of it|3": `{"items":[{"header":"Region","selected":["eu"]},{"header":"Reason","text":"3"}]}`,
	} {
		api := served(t, set)
		got := runs(t, 0, append([]string{"answer", "q_1", "--yes"}, strings.Split(args, "|")...)...)
		if sent := api.answered(); len(sent) != 1 || sent[0] != want || !strings.Contains(got.err, "Part 2 of 2: Reason\n  | Why?\n") {
			t.Errorf("sent %q, %+v", sent, got)
		}
		runs(t, 0, append([]string{"answer", "q_1", "--yes"}, strings.Split(args, "|")...)...) // again
	}
	api := served(t, set)
	if got := atTerminal(t, "1\nmars\n\n", "answer", "q_1"); got.code != 1 {
		t.Errorf("%+v", got)
	}
	if got := atTerminal(t, "mars\n1,2\ncost\ny\n", "answer", "q_1"); got.code != 0 || !strings.Contains(got.err, `"mars" is none of the options`) {
		t.Errorf("%+v", got)
	}
	if sent := api.answered(); len(sent) != 1 {
		t.Errorf("sent %q", sent)
	}
	for _, args := range []string{"1", "1|a|b", "mars|a", "3|a"} {
		served(t, set)
		runs(t, 2, append([]string{"answer", "q_1", "--yes"}, strings.Split(args, "|")...)...)
	}
	served(t, set)
	runs(t, 2, "answer", "q_1", "--yes", "--text", "x")
}

// TestCertificateOfAnAnswer writes what the approval was certified with, to the byte.
func TestCertificateOfAnAnswer(t *testing.T) {
	genuine := approval(t, nil)
	var document map[string]any
	if err := json.Unmarshal(genuine, &document); err != nil {
		t.Fatal(err)
	}
	certifying := func(t *testing.T, with map[string]any) *fakeAPI {
		api := served(t, operation)
		api.answerBy(func(w http.ResponseWriter, r *http.Request) {
			api.change("q_1", func(q *schema.Question) { choose(q, "approve"); q.Answer.Certificate = with })
			api.give(w, "q_1")
		})
		return api
	}
	approve := []string{"answer", "q_1", "1", "--yes", "--digest=sha256:ab\u200b", "--certificate"}

	certifying(t, document)
	for range 2 { // the same answer again writes it again
		got := runs(t, 0, append(approve, "approval.json")...)
		if raw, err := os.ReadFile("approval.json"); err != nil || !bytes.Equal(raw, genuine) || got.out != "approve\n" {
			t.Errorf("%v: wrote %s\n%+v", err, raw, got)
		}
	}
	if got := runs(t, 0, append(approve, "-")...); got.out != string(genuine) {
		t.Errorf("printed %s", got.out)
	}
	got := runs(t, 0, append(approve, "approval.json", "--json")...)
	if raw, err := os.ReadFile("approval.json"); err != nil || !bytes.Equal(raw, genuine) || !json.Valid([]byte(got.out)) {
		t.Errorf("%v: %+v", err, got)
	}
	if got := runs(t, exitUsage, append(approve, "none/approval.json")...); !strings.Contains(got.err, "your answer stands; the same command again") || got.out != "approve\n" {
		t.Errorf("%+v", got)
	}

	certifying(t, nil)
	if got := runs(t, exitFailed, append(approve, "approval.json")...); !strings.HasSuffix(got.err, "question: the question has no certificate: only an approval of a subject has one\n") {
		t.Errorf("%+v", got)
	}

	api := certifying(t, document)
	runs(t, exitUsage, append(approve, "")...)
	runs(t, exitUsage, append(approve, "-", "--json")...)
	if got := runs(t, exitUsage, "answer", "q_1", "4", "--yes", "--certificate", "f"); !strings.Contains(got.err, "only what approves an exact operation has one; nothing was answered") {
		t.Errorf("%+v", got)
	}
	if len(api.answered()) > 0 {
		t.Errorf("sent %q", api.answered())
	}
}

// TestWhoWasFirst tells by the exit code whether it is this person's answer that stands.
func TestWhoWasFirst(t *testing.T) {
	other := schema.Responder{ID: "@bob:example.org", DisplayName: new("Bo\u202eb")}
	for name, c := range map[string]struct {
		ended func(*schema.Question)
		args  []string
		code  int
		out   string
		says  string
	}{
		"the same, again":          {func(q *schema.Question) { choose(q, "deny") }, []string{"2", "--yes"}, 0, "deny\n", ""},
		"something else":           {func(q *schema.Question) { choose(q, "approve") }, []string{"2", "--yes"}, 7, "", "not taken: question q_1 was answered already: label of approve, by Federica"},
		"with another comment":     {func(q *schema.Question) { choose(q, "deny") }, []string{"2", "--yes", "--comment", "x"}, 7, "", "not taken"},
		"somebody else":            {func(q *schema.Question) { choose(q, "approve"); q.Answer.Responder = other }, []string{"2", "--yes"}, 7, "", "label of approve, by Bo\\u{202E}b (@bob:example.org)"},
		"somebody else, the same":  {func(q *schema.Question) { choose(q, "deny"); q.Answer.Responder = other }, []string{"2", "--yes"}, 7, "", "not taken"},
		"nobody":                   {func(q *schema.Question) { end(q, schema.Expired) }, []string{"2", "--yes"}, 3, "", "no answer: question q_1 expired"},
		"the asker":                {func(q *schema.Question) { end(q, schema.Cancelled); q.CancelledBy = "asker" }, []string{"2", "--yes"}, 4, "", "was cancelled by its asker"},
		"no such option, as ever":  {func(q *schema.Question) { choose(q, "approve") }, []string{"perhaps", "--yes"}, 2, "", "none of the options"},
		"the same, as a document":  {func(q *schema.Question) { choose(q, "deny") }, []string{"2", "--yes", "--json"}, 0, `"value": "deny"`, ""},
		"another one, as document": {func(q *schema.Question) { choose(q, "approve") }, []string{"2", "--yes", "--json"}, 7, `"value": "approve"`, "not taken"},
	} {
		t.Run(name, func(t *testing.T) {
			served(t, func(q *schema.Question) { byFederica(q); c.ended(q) })
			got := call{args: append([]string{"answer", "q_1"}, c.args...)}.run(t)
			if got.code != c.code || !strings.Contains(got.out, c.out) || c.out == "" && got.out != "" || !strings.Contains(got.err, c.says) {
				t.Errorf("%+v", got)
			}
		})
	}
	served(t, func(q *schema.Question) { byFederica(q); choose(q, "approve") })
	want{7, "", "question: question q_1 was answered already: label of approve, by Federica"}.check(t, atTerminal(t, "", "answer", "q_1"))
	runs(t, 1, "answer", "q_9", "1", "--yes")
	runs(t, 2, "answer")
}

func TestRefusedAnswers(t *testing.T) {
	api := served(t, byFederica)
	api.answerBy(func(w http.ResponseWriter, _ *http.Request) {
		problem(w, 403, "admins_only", "Only admins can choose this, \x1b[31mnot you.")
	})
	got := runs(t, 1, "answer", "q_1", "1", "--yes")
	if !strings.HasSuffix(got.err, "question: Only admins can choose this, \\u{001B}[31mnot you (403 admins_only)\n") || strings.Contains(got.err, "not known") || got.out != "" {
		t.Errorf("%+v", got)
	}
	api.answerBy(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if got := runs(t, 1, "answer", "q_1", "1", "--yes"); !strings.Contains(got.err, "whether the answer was taken is not known; giving it again changes nothing") {
		t.Errorf("%+v", got)
	}
	api.answerBy(func(w http.ResponseWriter, _ *http.Request) { problem(w, 503, "unavailable", "Please try again.") })
	if got := runs(t, 1, "answer", "q_1", "1", "--yes"); !strings.Contains(got.err, "Please try again (503 unavailable)") {
		t.Errorf("%+v", got)
	}
}

// TestAnInterruptedAnswerIsNone: nothing is sent.
func TestAnInterruptedAnswerIsNone(t *testing.T) {
	api := served(t, byFederica)
	before := isTerminal
	isTerminal = func(any) bool { return true }
	defer func() { isTerminal = before }()
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"answer", "q_1", "1"}, interrupting{}, &out, &errs)
	if code != exitInterrupted || len(api.answered()) != 0 || !strings.Contains(errs.String(), "stays pending") {
		t.Errorf("%d %s", code, errs.String())
	}
}

// interrupting is an input on which somebody presses Ctrl-C, and types nothing more.
type interrupting struct{}

func (interrupting) Read([]byte) (int, error) {
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		panic(err)
	}
	select {}
}
