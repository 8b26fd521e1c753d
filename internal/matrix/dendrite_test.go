package matrix

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

func TestDendrite(t *testing.T) {
	r := startReal(t)
	t.Run("answers", func(t *testing.T) { r.t = t; testAnswers(r) })
	t.Run("set", func(t *testing.T) { r.t = t; testRealSet(r) })
	t.Run("alone", func(t *testing.T) { r.t = t; testRealAlone(r) })
	t.Run("commands", func(t *testing.T) { r.t = t; testRealCommands(r) })
	t.Run("redaction", func(t *testing.T) { r.t = t; testRealRedaction(r) })
	t.Run("carrier", func(t *testing.T) { r.t = t; testRealCarrier(r) })
	t.Run("upgrade", func(t *testing.T) { r.t = t; testRealUpgrade(r) })
	t.Run("kick", func(t *testing.T) { r.t = t; testRealKick(r) })
	t.Run("encrypted", func(t *testing.T) { r.t = t; testRealEncrypted(r) })
	t.Run("field cases", func(t *testing.T) { r.t = t; testFieldCases(r) })
	t.Run("targets", func(t *testing.T) { r.t = t; testRealTargets(r) })
	t.Run("deliveries", func(t *testing.T) { r.t = t; testRealDeliveries(r) })
	t.Run("lost answer", func(t *testing.T) { r.t = t; testRealLostAnswer(r) }) // what comes after it may be pushed late
	t.Run("homeserver down", func(t *testing.T) { r.t = t; homeserverDown(r) })
}

// testAnswers: every way in which people answer, and what they see afterwards.
func testAnswers(r *real) {
	room := r.room()
	for name, answer := range map[string]func(ctx context.Context, m string) error{
		"thread": func(ctx context.Context, m string) error {
			_, err := r.bob.ThreadReply(ctx, room, m, "SKIP them")
			return err
		},
		"element thread": func(ctx context.Context, m string) error {
			_, err := r.bob.SendEvent(ctx, room, "m.room.message", map[string]any{"msgtype": "m.text", "body": "2", "m.mentions": map[string]any{},
				"m.relates_to": map[string]any{"rel_type": "io.element.thread", "event_id": m, "is_falling_back": true}})
			return err
		},
		"reply with the old quote": func(ctx context.Context, m string) error {
			_, err := r.bob.Reply(ctx, room, m, "> <@questions:question.test> May I?\n> 1. Run the tests\n> 2. Skip them\n\nskip")
			return err
		},
		"reaction": func(ctx context.Context, m string) error {
			_, err := r.bob.React(ctx, room, m, "2️⃣")
			return err
		},
		"correction": func(ctx context.Context, m string) error {
			id, err := r.bob.ThreadReply(ctx, room, m, "wait, let me look")
			if err != nil {
				return err
			}
			_, err = r.bob.Edit(ctx, room, id, "2")
			return err
		},
	} {
		r.t.Run(name, func(t *testing.T) {
			r := &real{Service: r.Service, t: t, hs: r.hs, engine: r.engine, db: r.db, alice: r.alice, bob: r.bob, pod: r.pod}
			q, m := r.ask(room, plain())
			r.wait(r.alice, room, func(e testserver.Event) bool {
				return e.Type == "m.reaction" && e.Relation().EventID == m && e.Relation().Key == "2️⃣"
			})
			noError(t, answer(within(t), m))
			o := r.outcome(room, string(q.ID))
			if o["option_id"] != "skip" || o["decided_by"] != r.bob.ID || o["question_event_id"] != m {
				t.Errorf("the outcome is %v", o)
			}
			r.wait(r.alice, room, func(e testserver.Event) bool {
				return e.Relation().Type == "m.replace" && e.Relation().EventID == m && strings.Contains(e.NewBody(), ", by bob")
			})
			r.eventually("both reactions are gone", func() bool {
				effects, err := r.db.SendsOf(within(t), q.ID)
				noError(t, err)
				gone := 0
				for _, s := range effects {
					if !strings.Contains(s.Key, keycapPart) || s.Message == "" {
						continue
					}
					if e, err := r.alice.Event(within(t), room, string(s.Message)); err == nil && len(e.Relation().Key) == 0 {
						gone++
					}
				}
				return gone == 2
			})
		})
	}
}

func testRealSet(r *real) {
	room := r.room()
	set := plain()
	set.Items[0].Header = "tests"
	set.Items = append(set.Items, bridge.Item{Header: "branch", Prompt: "Which branch?", Text: &bridge.TextInput{MaxLength: 20}})
	q, m := r.ask(room, set)
	_, err := r.bob.ThreadReply(within(r.t), room, m, "1")
	noError(r.t, err)
	r.wait(r.bob, room, func(e testserver.Event) bool {
		return e.Field("elicitation_id") == string(q.ID)+"/2" && e.NewBody() == ""
	})
	r.eventually("the second step has come back", func() bool {
		p, err := r.db.Posting(within(r.t), q.ID)
		noError(r.t, err)
		current, _ := p.Current()
		return !p.Moving && len(p.Messages) == 2 && current.Seq != 0
	})
	_, err = r.bob.ThreadReply(within(r.t), room, m, "main")
	noError(r.t, err)
	if o := r.outcome(room, string(q.ID)); len(o["items"].([]any)) != 2 {
		r.t.Errorf("the outcome is %v", o)
	}
}

// testRealAlone: in a room of two, a plain message may answer the one question that was there before it.
func testRealAlone(r *real) {
	ctx := within(r.t)
	room, err := r.alice.CreateRoom(ctx, testserver.Room{Invite: []string{string(r.Bot())}})
	noError(r.t, err)
	noError(r.t, r.alice.WaitForMember(ctx, room, string(r.Bot()), "join"))
	q, _ := r.ask(room, plain())
	r.eventually("the question has come back", func() bool {
		p, err := r.db.Posting(ctx, q.ID)
		noError(r.t, err)
		current, _ := p.Current()
		return current.Seq != 0
	})
	_, err = r.alice.Send(ctx, room, "skip them")
	noError(r.t, err)
	if o := r.outcome(room, string(q.ID)); o["option_id"] != "skip" || o["decided_by"] != r.alice.ID {
		r.t.Errorf("the outcome is %v", o)
	}
}

// testRealRedaction: Dendrite never pushes redactions, so this one comes by /sync.
func testRealRedaction(r *real) {
	room := r.room()
	q, m := r.ask(room, plain())
	r.eventually("the sync has begun", func() bool {
		token, err := r.db.Value(within(r.t), valueSyncToken)
		noError(r.t, err)
		return token != ""
	})
	// Somebody without the power sends what looks like one.
	_, err := r.bob.SendEvent(within(r.t), room, "m.room.redaction", map[string]any{"redacts": m})
	noError(r.t, err)
	_, err = r.bob.ThreadReply(within(r.t), room, m, "9")
	noError(r.t, err)
	r.wait(r.bob, room, func(e testserver.Event) bool { return strings.Contains(e.Body(), "no option 9") })
	token, err := r.db.Value(within(r.t), valueSyncToken)
	noError(r.t, err)
	_, err = r.alice.Redact(within(r.t), room, m)
	noError(r.t, err)
	r.eventually("the question is redacted", func() bool {
		q, err := r.db.Question(within(r.t), q.ID)
		noError(r.t, err)
		return q.Delivery.Reason == bridge.ReasonRedacted
	})
	_, err = r.bob.ThreadReply(within(r.t), room, m, "2")
	noError(r.t, err)
	r.wait(r.bob, room, func(e testserver.Event) bool {
		return e.Sender == string(r.Bot()) && strings.Contains(e.Body(), "was removed from the room")
	})
	if q, err := r.db.Question(within(r.t), q.ID); err != nil || q.State != bridge.Pending {
		r.t.Errorf("a redacted question was answered: %v", err)
	}
	testLimitedSync(r, room, token)
}

// testLimitedSync: more redactions than one answer holds, while nobody synced. What is left out is paged for.
func testLimitedSync(r *real, room, since string) {
	const more = 110
	for i := range more {
		id, err := r.alice.Send(within(r.t), room, fmt.Sprint("junk ", i))
		noError(r.t, err)
		_, err = r.alice.Redact(within(r.t), room, id)
		noError(r.t, err)
	}
	db, err := sqlstore.Open(r.t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(r.t.TempDir(), "late.db"), Log: zerolog.Nop()})
	noError(r.t, err)
	defer db.Close()
	late, err := New(r.cfg, db, bridge.SystemClock{}) // the same bridge, which was away
	noError(r.t, err)
	noError(r.t, db.SetValue(r.t.Context(), valueSyncToken, since))
	noError(r.t, late.syncOnce(within(r.t), r.engine))
	found := 0
	for {
		events, err := db.NextEvents(r.t.Context(), time.Now().Add(time.Hour), 1)
		noError(r.t, err)
		if len(events) == 0 {
			break
		}
		found++
		noError(r.t, db.FinishInteraction(r.t.Context(), events[0].ID))
	}
	if found != more+1 { // and the question's own
		r.t.Errorf("%d redactions, want %d", found, more+1)
	}
}

func testRealCarrier(r *real) {
	room := r.room(r.pod.ID)
	ctx := within(r.t)
	_, err := r.pod.Join(ctx, room)
	noError(r.t, err)
	var content object = readObject([]byte(carriedQuestion))
	m, err := r.pod.SendEvent(ctx, room, "m.room.message", content)
	noError(r.t, err)
	r.eventually("the question is adopted", func() bool {
		_, ok, err := r.db.QuestionOf(ctx, bridge.ConversationID(room), bridge.MessageID(m))
		noError(r.t, err)
		return ok
	})
	_, err = r.bob.ThreadReply(ctx, room, m, "1")
	noError(r.t, err)
	e := r.wait(r.pod, room, func(e testserver.Event) bool { return e.Field(outcomeKey) != nil })
	if o := e.Field(outcomeKey).(map[string]any); o["option_id"] != "run_them" || o["board_id"] != "brd_1" || e.Relation().EventID != m {
		r.t.Errorf("the carrier reads %v", o)
	}
}

func testRealUpgrade(r *real) {
	room := r.room()
	q, _ := r.ask(room, plain())
	set := plain()
	set.Items[0].Header = "tests"
	set.Items = append(set.Items, bridge.Item{Header: "branch", Prompt: "Which branch?", Text: &bridge.TextInput{MaxLength: 20}})
	set, first := r.ask(room, set)
	ctx := within(r.t)
	_, err := r.bob.ThreadReply(ctx, room, first, "1")
	noError(r.t, err)
	r.wait(r.bob, room, func(e testserver.Event) bool { return e.Field("elicitation_id") == string(set.ID)+"/2" })
	next, err := r.alice.Upgrade(ctx, room, "11")
	noError(r.t, err)
	r.eventually("the question is unanswerable", func() bool {
		q, err := r.db.Question(ctx, q.ID)
		noError(r.t, err)
		return q.Delivery.Reason == bridge.ReasonRoomUpgraded
	})
	noError(r.t, r.alice.Invite(ctx, next, string(r.Bot())))
	again := r.wait(r.alice, next, func(e testserver.Event) bool { return e.Field("elicitation_id") == string(q.ID) })
	_, err = r.alice.ThreadReply(ctx, next, again.ID, "2")
	noError(r.t, err)
	if o := r.outcome(next, string(q.ID)); o["option_id"] != "skip" {
		r.t.Errorf("the outcome is %v", o)
	}
	step := r.wait(r.alice, next, func(e testserver.Event) bool { return e.Field("elicitation_id") == string(set.ID)+"/2" })
	_, err = r.alice.ThreadReply(ctx, next, step.ID, "main")
	noError(r.t, err)
	if o := r.outcome(next, string(set.ID)); fmt.Sprint(o["items"]) != "[map[header:tests selected:[run_them] text:<nil>] map[header:branch selected:[] text:main]]" {
		r.t.Errorf("the outcome is %v", o)
	}
}

func testRealKick(r *real) {
	room := r.room()
	q, _ := r.ask(room, plain())
	ctx := within(r.t)
	noError(r.t, r.alice.Kick(ctx, room, string(r.Bot())))
	r.eventually("the question is unanswerable", func() bool {
		q, err := r.db.Question(ctx, q.ID)
		noError(r.t, err)
		return q.Delivery.Reason == bridge.ReasonNotInRoom
	})
	if err := r.Supports(ctx, bridge.ConversationID(room)); bridge.CodeOf(err) != bridge.CodeRoomUnanswerable {
		r.t.Errorf("a room we were kicked from: %v", err)
	}
}

func testRealEncrypted(r *real) {
	ctx := within(r.t)
	room, err := r.alice.CreateRoom(ctx, testserver.Room{Invite: []string{string(r.Bot())}, Encrypted: true})
	noError(r.t, err)
	noError(r.t, r.alice.WaitForMember(ctx, room, string(r.Bot()), "join"))
	err = r.Supports(ctx, bridge.ConversationID(room))
	if bridge.CodeOf(err) != bridge.CodeRoomUnanswerable || !strings.Contains(err.Error(), "not configured here") {
		r.t.Errorf("an encrypted room: %v", err)
	}
}

// testRealLostAnswer: the homeserver takes the question, the answer to that is lost, and the homeserver is killed, which
// makes it forget its transaction ids. The question is posted once.
func testRealLostAnswer(r *real) {
	room := r.room()
	restarted := make(chan struct{})
	r.onCut = func() {
		defer close(restarted)
		_ = r.hs.Kill()
		_ = r.hs.Restart(context.Background())
	}
	r.cutPUT.Store(1)
	q, m := r.ask(room, plain())
	<-restarted
	r.eventually("the question counts as posted", func() bool {
		q, err := r.db.Question(within(r.t), q.ID)
		noError(r.t, err)
		return q.Delivery.State == bridge.Posted && string(q.Delivery.Message) == m
	})
	r.answered(room, m, q)
	all, err := r.alice.Messages(within(r.t), room)
	noError(r.t, err)
	posted := 0
	for _, e := range all {
		if e.Field("elicitation_id") == string(q.ID) && e.NewBody() == "" {
			posted++
		}
	}
	if posted != 1 {
		r.t.Errorf("posted %d times", posted)
	}
}

// answered replies to a question and waits for its outcome. A homeserver that was killed may never push an event that its
// room shows; then the reply is given once more, as people would. One that was pushed has to count.
func (r *real) answered(room, m string, q bridge.Question) {
	r.t.Helper()
	for try := range 3 {
		reply, err := r.bob.ThreadReply(within(r.t), room, m, "2")
		noError(r.t, err)
		ctx, cancel := context.WithTimeout(r.t.Context(), 90*time.Second) // Dendrite's longest wait after a failure is 64 s
		_, err = r.alice.WaitFor(ctx, room, func(e testserver.Event) bool {
			o, ok := e.Field(outcomeKey).(map[string]any)
			return ok && o["elicitation_id"] == string(q.ID)
		})
		cancel()
		if err == nil {
			return
		}
		pushed := 0
		noError(r.t, r.db.Database().QueryRow(within(r.t), "SELECT COUNT(*) FROM inbox WHERE id = $1", reply).Scan(&pushed))
		if pushed != 0 || try == 2 {
			r.t.Fatalf("the reply was pushed %d times, and there is no outcome: %v", pushed, err)
		}
		r.t.Logf("the homeserver has not pushed %s", reply)
	}
}
