package sqlstore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/internal/grant"
	"superpipeline.dev/question-bridge/internal/matrix"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

// realReader understands what the adapters keep.
type realReader struct{}

func (realReader) SaidBy(raw json.RawMessage, who bridge.UserID) bool { return matrix.SaidBy(raw, who) }
func (realReader) Present(member json.RawMessage) bool                { return matrix.Present(member) }
func (realReader) ForgetProgress(p json.RawMessage, who bridge.UserID, ended bool) (json.RawMessage, bool) {
	return matrix.ForgetProgress(p, who, ended)
}
func (realReader) ForgetIn(document []byte, who bridge.UserID) ([]byte, bool) {
	return dialect.Forget(document, who)
}

const ada, bob bridge.UserID = "@ada_%:example.org", "@bob:example.org"

// answeredBy settles a question by somebody who types, with what is told of that.
func answeredBy(t *testing.T, s *sqlstore.Store, q bridge.Question, who bridge.UserID, words string) {
	t.Helper()
	answer := bridge.Answer{
		Choice: bridge.Choice{Items: []bridge.ItemChoice{{Text: new(words + " typed")}}, Comment: new(words + " comment"), Input: new(words + " input"), Via: bridge.ViaReply},
		Labels: [][]string{nil}, By: bridge.Responder{ID: who, DisplayName: words + " name"}, At: q.CreatedAt, Event: bridge.InteractionID("$" + words),
		Certificate: []byte(`{"payload":{"responder":"` + string(who) + `"}}`),
	}
	settled := must2(s.Settle(t.Context(), bridge.Settlement{Question: q.ID, State: bridge.Answered, Revision: -1, At: q.CreatedAt, Answer: &answer}))(t)
	event := must(json.Marshal(dialect.ToWebhookEvent(settled, schema.WebhookRoom{})))(t)
	noError(t, s.AddDeliveries(t.Context(), bridge.WebhookDelivery{ID: "msg_" + string(q.ID), Endpoint: "ci", Question: q.ID, Event: "question.answered", Body: event, CreatedAt: start}))
	response := must(json.Marshal(dialect.ToQuestion(settled)))(t)
	must(s.KeepResponse(t.Context(), bridge.KeptResponse{RequestID: bridge.RequestID{Agent: "agent", Scope: "cancel " + string(q.ID), Key: "k"}, KeptAt: start,
		Response: bridge.Response{Question: q.ID, Body: response}}))(t)
	progress := `{"step":0,"picks":[{"Text":"` + words + ` picked"}],"waiting":{"` + string(who) + `":{"option":"yes","chosen":"$x","input":"` + words + ` waits"}}}`
	noError(t, s.SavePosting(t.Context(), bridge.Posting{Question: q.ID, Conversation: q.Conversation, ChangedAt: start, Progress: json.RawMessage(progress),
		Asides: []bridge.Aside{{Message: bridge.Message{ID: bridge.MessageID("$aside-" + words)}, To: who, About: "$x"}}}))
}

// answeredBefore is a question that somebody else answered.
func answeredBefore(t *testing.T, s *sqlstore.Store, n int) bridge.Question {
	t.Helper()
	q := ask(t, s, n, room)
	return must2(s.Settle(t.Context(), answer(q, 1)))(t)
}

// livesOf fills a database with everything that is kept of somebody. Numbers tell people apart.
func livesOf(t *testing.T, s *sqlstore.Store, n int, who bridge.UserID, words string) {
	t.Helper()
	answeredBy(t, s, ask(t, s, n, room), who, words)
	direct := question(n + 1)
	direct.Scope, direct.Target = bridge.Direct, who
	noError(t, s.CreateQuestion(t.Context(), direct))
	must2(s.Settle(t.Context(), bridge.Settlement{Question: direct.ID, State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByAsker, At: start}))(t)
	dismissed := ask(t, s, n+3, room)
	must2(s.Settle(t.Context(), bridge.Settlement{Question: dismissed.ID, State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByResponder, DismissedBy: who, At: start}))(t)
	open := ask(t, s, n+2, room)
	noError(t, s.SavePosting(t.Context(), bridge.Posting{Question: open.ID, Conversation: room, ChangedAt: start,
		Progress: json.RawMessage(`{"step":0,"waiting":{"` + string(who) + `":{"option":"yes","chosen":"$y","comment":"` + words + ` half"}}}`),
		Asides:   []bridge.Aside{{Message: bridge.Message{ID: bridge.MessageID("$ask-" + words)}, To: who, About: "$y"}}}))
	noError(t, s.KeepReply(t.Context(), bridge.Reply{ID: bridge.InteractionID("$r-" + words), Conversation: room, Sender: who, Question: open.ID}))
	for _, key := range []string{"hint/" + string(who), "stale/0/answered/" + string(who)} {
		must(s.FirstTime(t.Context(), open.ID, key))(t)
	}
	courtesy := must(json.Marshal(bridge.Courtesy{Kind: bridge.Rejected, To: who, About: "$z", Reason: words + " was told"}))(t)
	noError(t, s.AddEffects(t.Context(), bridge.Effect{Kind: bridge.EffectTell, Question: open.ID, Lane: "hints", Key: "tell" + words, Payload: courtesy, Due: start}))
	reply := must(json.Marshal(bridge.AddressedReply{CommandReply: bridge.CommandReply{Text: words + " was replied to"}, To: who}))(t)
	noError(t, s.AddEffects(t.Context(), bridge.Effect{Kind: bridge.EffectReply, Key: "reply" + words, Payload: reply, Due: start}))
	for i, raw := range []string{
		`{"event_id":"$e","room_id":"!r","type":"m.room.message","sender":"` + string(who) + `","origin_server_ts":1,"content":{"body":"` + words + ` said"}}`,
		`{"sender":"` + string(who) + `","body":"` + words + ` said badly"`,
	} {
		e := incoming(bridge.InteractionID("$in-"+words+string(rune('0'+i))), room)
		e.Raw, e.Aside = json.RawMessage(raw), i == 1
		must(s.StoreEvents(t.Context(), []bridge.Incoming{e}))(t)
	}
	sealed := incoming(bridge.InteractionID("$sealed-"+words), room)
	sealed.Raw = json.RawMessage(`{"event_id":"$e","room_id":"!r","type":"m.room.encrypted","sender":"` + string(who) + `","content":{"ciphertext":"` + words + ` sealed"}}`)
	must(s.StoreEvents(t.Context(), []bridge.Incoming{sealed}))(t)
	noError(t, s.LockEvent(t.Context(), sealed.ID, "session"))
	for conv, membership := range map[bridge.ConversationID]string{"!in:example.org": "join", "!left:example.org": "leave"} {
		noError(t, s.PutState(t.Context(), bridge.StateRecord{Conversation: conv, Type: "m.room.member", Key: string(who), Sender: who, SentAt: start,
			Content: json.RawMessage(`{"membership":"` + membership + `","displayname":"` + words + ` in ` + membership + `"}`)}))
	}
	for _, kind := range []string{"m.room.name", "m.room.create"} {
		noError(t, s.PutState(t.Context(), bridge.StateRecord{Conversation: bridge.ConversationID("!" + words), Type: kind, Sender: who, SentAt: start, Content: json.RawMessage(`{}`)}))
	}
	granting := answeredBefore(t, s, n+4)
	noError(t, s.AddDeliveries(t.Context(), bridge.WebhookDelivery{ID: "msg_grant_" + words, Endpoint: "deploys", Question: granting.ID, Event: "grant.revoked",
		Body: json.RawMessage(`{"event":"grant.revoked","grant":{"by":"@else:example.org","revoked_by":"` + string(who) + `"}}`), CreatedAt: start}))
	id := grant.ID(fmt.Sprintf("g%05d", n))
	must(s.AddGrant(t.Context(), grant.Grant{ID: id, Question: granting, Granted: bridge.Granted{At: start}}))(t)
	must(s.RevokeGrant(t.Context(), grant.Revoking{Grant: id, By: who, At: start}))(t)
	noError(t, s.AddToken(t.Context(), bridge.Token{ID: "tok_" + words, User: who, Hash: [32]byte{byte(n)}, CreatedAt: start}))
	gated := gateOf(collector.GateID("g_"+words), gate.QueryID("query-"+words))
	gated.Principal.ID, gated.State, gated.Protected = string(who), collector.Declined, nil
	must(s.AddGate(t.Context(), gated))(t)
	about := query(gate.QueryID("handed-in-" + words))
	about.Subject.ID, about.Prompt = string(who), words+" was asked about"
	noError(t, s.AddQuery(t.Context(), host.Asked{Question: dismissed.ID, Agent: "agent", Query: about}))
	decided := decision.Decision{ID: decision.ID("d-" + words), Revision: 3, Key: decision.Key{Agent: "agent", Principal: decision.Opaque{byte(n)}},
		Made: &decision.Made{Approved: true, By: who, At: start, Gate: "g"}}
	must(s.AddDecision(t.Context(), decided))(t)
	must(s.SpendPersonBudget(t.Context(), queue.PersonSpending{Whom: string(who), Now: start, PersonBudget: queue.PersonBudget{Asks: 1, Per: time.Hour}}))(t)
}

// A person who is forgotten is nowhere but where their rights in a room that they are in are read, and where they made
// the room; of everybody else everything stays. It is safe beside a process that serves.
func TestForgetPerson(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		serving := d
		serving.Serving = true
		beside := serving.open(t)
		livesOf(t, beside, 1, ada, "Ada")
		livesOf(t, beside, 10, bob, "Bob")
		pending := question(20)
		pending.Scope, pending.Target = bridge.Direct, ada
		noError(t, beside.CreateQuestion(t.Context(), pending))

		s := d.open(t)
		p := sqlstore.Person{ID: ada, Reader: realReader{}, Dry: true}
		want := sqlstore.Traces{Answers: 3, Certificates: 1, Documents: 3, Prompts: 2, Replies: 1, Courtesies: 2, Notices: 2, Events: 3, Tokens: 1, Asks: 1, Gates: 2, Decisions: 1, Revocations: 1,
			Memberships: 1, States: 1, Joined: 1, Asked: 1}
		before := must(s.Mentions(t.Context(), string(ada)))(t)
		equal(t, "what there is", must(s.ForgetPerson(t.Context(), p))(t), want)
		if after := must(s.Mentions(t.Context(), string(ada)))(t); !slices.Equal(after, before) || len(before) < 10 {
			t.Errorf("counting changed %v into %v", before, after)
		}
		p.Dry = false
		equal(t, "what there was", must(s.ForgetPerson(t.Context(), p))(t), want)
		equal(t, "again", must(s.ForgetPerson(t.Context(), p))(t), sqlstore.Traces{Joined: 1, Asked: 1})

		stays := []sqlstore.Mention{{Table: "questions", Column: "definition", Rows: 1}, {Table: "room_state", Column: "key", Rows: 1}, {Table: "room_state", Column: "sender", Rows: 2}}
		if got := must(s.Mentions(t.Context(), string(ada)))(t); !slices.Equal(got, stays) {
			t.Errorf("she is still in %v", got)
		}
		for _, words := range []string{"Ada typed", "Ada comment", "Ada input", "Ada name", "$Ada", "Ada picked", "Ada waits", "Ada half", "Ada said", "Ada sealed", "Ada was told", "Ada was replied to", "Ada in leave"} {
			if got := must(s.Mentions(t.Context(), words))(t); len(got) > 0 {
				t.Errorf("%q is still in %v", words, got)
			}
			other := strings.Replace(words, "Ada", "Bob", 1)
			if got := must(s.Mentions(t.Context(), other))(t); len(got) == 0 {
				t.Errorf("%q is gone", other)
			}
		}
		if d.Type == sqlstore.SQLite {
			noError(t, s.Checkpoint(t.Context()))
			for _, suffix := range []string{"", "-wal"} {
				file := must(os.ReadFile(d.Path + suffix))(t)
				for _, words := range []string{"Ada typed", "Ada comment", "Ada name", "Ada picked", "Ada half", "Ada said", "Ada sealed", "Ada was told", "hint/" + string(ada)} {
					if bytes.Contains(file, []byte(words)) {
						t.Errorf("%q is still in the file%s", words, suffix)
					}
				}
			}
		}

		// What she decided about gated exchanges answers nothing any more, and whoever was asked before neither.
		if d := must(beside.Decision(t.Context(), "d-Ada"))(t); d.Made != nil || d.Revision != 4 || !d.EmptiedAt.Equal(start) {
			t.Errorf("what she decided is %+v", d)
		}
		if d := must(beside.Decision(t.Context(), "d-Bob"))(t); d.Made == nil || d.Made.By != bob || d.Revision != 3 {
			t.Errorf("what he decided is %+v", d)
		}

		// The decision stands, its event is owed as before, and what is gone is not stored again.
		q := must(beside.Question(t.Context(), "q_1"))(t)
		if q.State != bridge.Answered || q.Answer.By.ID != bridge.Forgotten || *q.Answer.Items[0].Text != bridge.Erased || q.SettledAt == nil {
			t.Errorf("the question is %+v", q.Answer)
		}
		owed := must(beside.Lane("ci", clockAt(start.Add(time.Hour))).ClaimEffects(t.Context(), start.Add(time.Hour), time.Minute, 10))(t)
		if len(owed) != 2 || !bytes.Contains(owed[0].Payload, []byte(`"state":"answered"`)) {
			t.Errorf("owed: %v", owed)
		}
		again := incoming("$in-Ada0", room)
		equal(t, "stored again", must(beside.StoreEvents(t.Context(), []bridge.Incoming{again}))(t), 0)
		if left := must(beside.ListTokens(t.Context()))(t); len(left) != 1 || left[0].User != bob {
			t.Errorf("tokens: %v", left)
		}
	})
}

// Many rows are read page by page.
func TestForgetPersonPages(t *testing.T) {
	s := newSQLite(t).open(t)
	const many = 1100
	for n := range many {
		q := ask(t, s, n, room)
		who := ada
		if n%2 == 1 {
			who = bob
		}
		must2(s.Settle(t.Context(), bridge.Settlement{Question: q.ID, State: bridge.Answered, Revision: -1, At: q.CreatedAt,
			Answer: &bridge.Answer{By: bridge.Responder{ID: who}, At: q.CreatedAt}}))(t)
	}
	got := must(s.ForgetPerson(t.Context(), sqlstore.Person{ID: ada, Reader: realReader{}}))(t)
	equal(t, "answers", got.Answers, many/2)
}

// peopleIn says what a table holds of people, "" for nothing. ForgetPerson clears what it names, and TestForgetPerson shows
// that it does.
var peopleIn = map[string]string{
	"questions": "definition, answer, dismissed_by", "postings": "asides, progress", "replies": "sender", "courtesies": "key",
	"effects": "payload", "inbox": "raw", "room_state": "key, sender, content", "tokens": "user_id", "webhook_deliveries": "body",
	"responses": "body", "queue_person_asks": "whom", "locked_events": "raw", "gates": "principal_id", "host_queries": "principal_id, query, next_query", "decisions": "decided_by", "grants": "revoked_by",

	"message_links": "", "sends": "", "room_standing": "", "settings": "", "signing_keys": "", "webhook_endpoints": "", "openid_tokens": "",
	"version": "", "database_owner": "",
	// What was asked about somebody who stands in gates, and goes with those.
	"gate_queries": "", "decision_uses": "",
	// What agents proposed and which option was chosen, not by whom.
	"queue_agents": "", "queue_candidates": "", "queue_keys": "", "queue_cues": "", "queue_evidence": "", "queue_callbacks": "",
}

// A new table is looked at: what it holds of people has to be forgotten with them.
func TestForgetPersonKnowsEveryTable(t *testing.T) {
	s := newSQLite(t).open(t)
	rows := must(s.Database().Query(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`))(t)
	defer rows.Close()
	for rows.Next() {
		var table string
		noError(t, rows.Scan(&table))
		if _, known := peopleIn[table]; !known {
			t.Errorf("%s is new: let ForgetPerson clear what it holds of people, and say so in peopleIn", table)
		}
	}
	noError(t, rows.Err())
}
