package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// handedIn hands the collector's query in, and gives its question and the event that it stands in.
func (s *stage) handedIn(agent *client.Client, ask *schema.QueryAsk) (*client.Question, testserver.Event) {
	s.t.Helper()
	q, err := agent.AskQuery(s.ctx, "OPS", ask)
	s.ok(err)
	if got, ok := q.Submission(); !ok || got.Status != "waiting" {
		s.t.Errorf("handed in: %+v", got)
	}
	return q, s.posted(q.ID)
}

// followed wants an outcome that the query follows which the collector gives.
func (s *stage) followed(o *client.Outcome, c *collecting) {
	s.t.Helper()
	next, ok := o.Next()
	if got, _ := o.Question.Submission(); !ok || got.Status != "accepted" || got.Refused != "" || next.Prompt != nextPrompt ||
		next.Delivery.Capability != nextCapability || next.Delivery.Endpoint != c.URL+"/responses" {
		s.t.Errorf("followed by %+v after %+v", next, got)
	}
}

// A person is shown exactly the query, and says yes in the room; their answer is submitted by TLS, to a collector whose
// certificate is an authority's of one's own, and the query that follows is handed back, by the wait and by the webhook. The room
// is told nothing that is not the query's prompt and its choices.
func TestAPersonApprovesAQuery(t *testing.T) {
	s, c := newStage(t), newCollecting(t)
	came := s.withWebhook("question.next_query")
	s.reaches(c.Server)
	s.start("")
	agent := s.gateClient("ci")
	q, event := s.handedIn(agent, c.query(time.Hour))
	if body := event.Body(); !strings.Contains(body, queryPrompt) || !strings.Contains(body, "1. approved") || !strings.Contains(body, "2. declined") {
		t.Errorf("the room reads %s", body)
	}
	_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "1")
	s.ok(err)
	o, err := agent.Await(s.ctx, q.ID)
	s.ok(err)
	s.followed(o, c)
	response := c.once(t, 1)
	if response.Respondent.Kind != "human" || response.Provenance != "mediated" || *response.Answer.Choice != "approved" || response.Answer.Text != nil {
		t.Errorf("submitted %+v", response)
	}
	var told struct {
		QuestionID string       `json:"question_id"`
		NextQuery  schema.Query `json:"next_query"`
	}
	s.ok(json.Unmarshal([]byte(s.hooked(came).Body), &told))
	if told.QuestionID != q.ID || told.NextQuery.Delivery.Capability != nextCapability {
		t.Errorf("the webhook is told %+v", told)
	}
	s.outcome(s.alice, q.ID)
	said := s.everythingSaid() + s.log.String()
	for _, private := range []string{queryCapability, nextCapability, nextPrompt, principal, "Ask exactly this question", c.URL} {
		if strings.Contains(said, private) {
			t.Errorf("the room or the log has %q", private)
		}
	}
}

// A no is submitted as well, and nothing follows it.
func TestAPersonDeclinesAQuery(t *testing.T) {
	s, c := newStage(t), newCollecting(t)
	s.reaches(c.Server)
	s.start("")
	agent := s.gateClient("ci")
	q, event := s.handedIn(agent, c.query(time.Hour))
	_, err := s.alice.React(s.ctx, s.room, event.ID, "2️⃣")
	s.ok(err)
	o, err := agent.Await(s.ctx, q.ID)
	s.ok(err)
	got, _ := o.Question.Submission()
	if next, ok := o.Next(); ok || got.Status != "accepted" || *c.once(t, 1).Answer.Choice != "declined" {
		t.Errorf("ended as %+v, followed by %+v", got, next)
	}
}

// Silence until the query expires is no answer: nothing is submitted. Talk in the thread is silence.
func TestNobodyAnswersAQuery(t *testing.T) {
	s, c := newStage(t), newCollecting(t)
	s.reaches(c.Server)
	s.start("")
	agent := s.gateClient("ci")
	q, event := s.handedIn(agent, c.query(5*time.Second))
	_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "sure, why not")
	s.ok(err)
	o, err := agent.Await(s.ctx, q.ID)
	s.ok(err)
	got, _ := o.Question.Submission()
	if next, ok := o.Next(); ok || !o.NoAnswer() || got.Status != "none" || got.ResponseID != nil || len(c.came) > 0 {
		t.Errorf("ended as %+v %+v, followed by %+v, submitted %v", o.State, got, next, c.came)
	}
}

// Whoever is killed between the answer and its submission, or between the receipt and handing over what follows, submits
// the same response again, and hands the query over once it is back.
func TestKilledAroundASubmission(t *testing.T) {
	for death, tries := range map[string]int{"submission": 1, "receipt": 2, "handed over": 1} {
		t.Run(death, func(t *testing.T) {
			s, c := newStage(t), newCollecting(t)
			s.reaches(c.Server)
			s.start(death)
			agent := s.gateClient("ci")
			q, event := s.handedIn(agent, c.query(time.Hour))
			_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "approved")
			s.ok(err)
			s.gone()
			s.start("")
			o, err := agent.Await(s.ctx, q.ID)
			s.ok(err)
			s.followed(o, c)
			c.once(t, tries)
			s.toldOnce(q.ID)
		})
	}
}

// Collectors that hang hold up no room: with more submissions under way than are made at once, a question is still posted,
// answered and told.
func TestCollectorsThatHang(t *testing.T) {
	s := newStage(t)
	hanging := make(chan struct{}, 100)
	over, left := make(chan struct{}), make(chan struct{}, 100)
	c := &collecting{Server: httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that, nobody is seen to leave
		hanging <- struct{}{}
		select {
		case <-over:
		case <-r.Context().Done():
			left <- struct{}{}
		}
	}))}
	defer c.Close()
	defer close(over)
	s.reaches(c.Server)
	s.start("")
	agent := s.gateClient("ci")
	const many = 9
	for n := range many {
		ask := c.query(time.Hour)
		ask.Query.QueryID = string(gate.NewQueryID(time.Now()))
		_, event := s.handedIn(agent, ask)
		_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "1")
		s.ok(err)
		if n < many-1 {
			<-hanging
		}
	}
	q, event := s.ask(threeWays)
	_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	if outcome := s.outcome(s.alice, q); outcome["decided_by"] != s.bob.ID {
		t.Errorf("the room hears %v", outcome)
	}
	select {
	case <-left:
		t.Error("the room had to wait until a submission was given up")
	default:
	}
}
