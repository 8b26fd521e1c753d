package webhook

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"superpipeline.dev/question-bridge/schema"
)

const older = "whsec_b2xkZXIgb2xkZXIgb2xkZXIgb2xkZXIgb2xkZXI="

// signature computes one by the words of the Standard Webhooks specification, with no library.
func signature(t *testing.T, secret string, g got) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(g.header.Get("webhook-id") + "." + g.header.Get("webhook-timestamp") + "." + g.body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Field case D6: the signature is over exactly the bytes on the wire, which are those that were stored, also when they
// are sent again after a restart; each attempt has its own time, and all the same id.
func TestD6TheStoredBytesAreSentAndSigned(t *testing.T) {
	rec := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip") // a proxy that gets it wrong: nobody reads this
		w.WriteHeader([]int{500, 200}[n-1])
		_, _ = w.Write([]byte("no gzip at all"))
	})
	r := newRig(t, Endpoint{Name: "a", URL: rec.URL, Secrets: []string{secret, older}})
	r.retry.First, r.retry.Longest = 1500*time.Millisecond, time.Minute // so that the second attempt is in another second
	stop := r.start()
	q := r.ask()
	r.answer(q, hard)
	first := rec.next(t)
	r.eventually("the failure is kept", func() bool { return r.endpoint("a").FailedAt != nil })
	stop()
	r.ok(r.store.Close())
	r.open()
	r.feature.Rooms = places{room: {Name: "Renamed"}} // what is stored does not change any more
	r.start()
	second := rec.next(t)

	if second.body != first.body || id(second) != id(first) || id(first) == "" {
		t.Errorf("the second attempt is %s %s, the first %s %s", id(second), second.body, id(first), first.body)
	}
	if stored := r.deliveries("a")[0]; string(stored.Body) != first.body || stored.ID != id(first) {
		t.Errorf("stored is %s %s", stored.ID, stored.Body)
	}
	if first.header.Get("webhook-timestamp") == second.header.Get("webhook-timestamp") {
		t.Error("both attempts have one time")
	}
	for _, g := range []got{first, second} {
		want := signature(t, secret, g) + " " + signature(t, older, g)
		if g.header.Get("webhook-signature") != want {
			t.Errorf("signed %s, want %s", g.header.Get("webhook-signature"), want)
		}
		at, err := strconv.ParseInt(g.header.Get("webhook-timestamp"), 10, 64)
		if err != nil || time.Since(time.Unix(at, 0)).Abs() > time.Minute {
			t.Errorf("the time is %s", g.header.Get("webhook-timestamp"))
		}
		if g.header.Get("Content-Type") != "application/json" || g.header.Get("Content-Encoding") != "" || g.header.Get("Accept-Encoding") != "" {
			t.Errorf("headers %v", g.header)
		}
		for _, s := range []string{secret, older} { // whichever of the two a receiver has
			verifier, _ := standardwebhooks.NewWebhook(s)
			if err := verifier.Verify([]byte(g.body), g.header); err != nil {
				t.Errorf("the library refuses: %v", err)
			}
		}
	}
	r.eventually("it is delivered", func() bool { return r.endpoint("a").Pending == 0 })
	event, err := schema.Decode[schema.WebhookEvent]([]byte(first.body))
	if err != nil {
		t.Fatal(err)
	}
	if *event.Answer.Text != hard || event.Event != "question.answered" || event.QuestionID != string(q.ID) || *event.CorrelationID != *q.CorrelationID ||
		*event.Room.Name != "Ops" || *event.Room.Code != "OPS" || event.Delivery.State != "posted" || event.Answer.Responder.ID != "@alice:example.org" {
		t.Errorf("got %s", first.body)
	}
	if !strings.Contains(first.body, "12345678901234567890") {
		t.Errorf("data lost digits: %s", first.body)
	}
}

// node starts the JavaScript receiver with a secret and gives its URL and the lines that it writes.
func node(t *testing.T, secret string) (url string, lines <-chan string) {
	t.Helper()
	if _, err := os.Stat("receiver/node_modules/standardwebhooks/package.json"); err != nil {
		t.Fatal("the receiver is not installed: `make test` does that, or `npm ci` in internal/webhook/receiver")
	}
	// Reading the receiver here is what makes `go test` forget a cached result when it changes.
	if _, err := os.ReadFile("receiver/receive.mjs"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "receiver/receive.mjs", secret)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal("the test needs Node.js 20 or newer: ", err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	said := make(chan string, 100)
	go func() {
		defer close(said)
		for s := bufio.NewScanner(out); s.Scan(); {
			said <- s.Text()
		}
	}()
	return <-said, said
}

// A receiver that uses the Standard Webhooks library of another language verifies ours: with either secret while they
// are being changed, and with no other one.
func TestAnotherLanguageVerifies(t *testing.T) {
	withNew, newLines := node(t, secret)
	withOld, oldLines := node(t, older)
	withOther, otherLines := node(t, NewSecret())
	both := []string{secret, older}
	r := newRig(t, Endpoint{Name: "new", URL: withNew, Secrets: both}, Endpoint{Name: "old", URL: withOld, Secrets: both}, Endpoint{Name: "other", URL: withOther, Secrets: both})
	r.start()
	q := r.ask()
	r.answer(q, hard)
	type line struct {
		ID      string
		Event   *schema.WebhookEvent
		Refused string
	}
	read := func(lines <-chan string) (l line) {
		t.Helper()
		select {
		case text := <-lines:
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("nothing came")
		}
		return l
	}
	for name, lines := range map[string]<-chan string{"new": newLines, "old": oldLines} {
		l := read(lines)
		if l.Event == nil || l.Event.QuestionID != string(q.ID) || *l.Event.Answer.Text != hard || l.ID != deliveryID(string(q.ID), name) {
			t.Errorf("%s: got %+v", name, l)
		}
		r.eventually("it is delivered", func() bool { return r.endpoint(name).SucceededAt != nil })
	}
	first, again := read(otherLines), read(otherLines)
	if first.Refused == "" || again.Refused == "" || first.ID != again.ID {
		t.Errorf("with another secret: %+v, then %+v", first, again)
	}
}

func TestD6AnEmptySecretIsRefused(t *testing.T) {
	for _, secrets := range [][]string{nil, {""}, {"whsec_"}, {secret, ""}, {"whsec_%%%"}} {
		_, err := NewSender(Endpoint{Name: "a", Secrets: secrets}, Means{})
		if err == nil || strings.Contains(err.Error(), "%%%") {
			t.Errorf("%q: %v", secrets, err)
		}
	}
	if made := NewSecret(); made == NewSecret() || len(made) != len("whsec_")+44 {
		t.Errorf("made %s", made)
	}
}

// The test event is signed like any other, and like none of the document's.
func TestTestEvent(t *testing.T) {
	rec := receive(t, statuses(202, 410))
	r := newRig(t, Endpoint{Name: "a", URL: rec.URL, Events: []string{"question.expired"}})
	s := r.sender(r.feature.Endpoints[0], r.feature.Clock)
	status, err := s.Test(t.Context())
	if err != nil || status != 202 {
		t.Errorf("got %d, %v", status, err)
	}
	g := rec.next(t)
	if g.header.Get("webhook-signature") != signature(t, secret, g) || !strings.HasPrefix(g.body, `{"event":"webhook.test","endpoint":"a","timestamp":"`) || !strings.HasPrefix(id(g), "msg_test_") {
		t.Errorf("got %s %s", id(g), g.body)
	}
	if _, err := schema.Decode[schema.WebhookEvent]([]byte(g.body)); err == nil {
		t.Error("it could be taken for an event of the document")
	}
	if status, err := s.Test(t.Context()); err != nil || status != 410 || r.endpoint("a").DisabledAt != nil {
		t.Errorf("got %d, %v: %+v", status, err, r.endpoint("a"))
	}
}
