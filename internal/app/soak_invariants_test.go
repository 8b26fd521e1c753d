package app

import (
	"fmt"
	"strings"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// violations are everything that is not as it must be, after everything has come to its end.
func (h *history) violations() (all []string) {
	h.readList()
	h.sortOut()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, invariant := range []struct {
		name  string
		holds func() []string
	}{
		{"programs are not refused", func() []string { return h.troubles }},
		{"what is acknowledged is handled", h.acknowledgedIsHandled},
		{"what was answered is not pending", func() []string { return h.unheard }},
		{"what was asked is stored, once", h.askedOnce},
		{"a question is posted once", h.postedOnce},
		{"an answer is one that somebody gave", h.answersAreReal},
		{"silence is no answer", h.silenceIsNoAnswer},
		{"everybody is told the same", h.toldTheSame},
		{"a room is told the outcome, once", h.outcomesAreTold},
		{"number reactions are put up once and taken away", h.reactionsAreGone},
		{"what is owed is done", h.nothingIsOwed},
		{"courtesies are told once", h.courtesiesOnce},
		{"nothing else is in the rooms", h.nothingElse},
	} {
		for _, violation := range invariant.holds() {
			all = append(all, invariant.name+": "+violation)
		}
	}
	return all
}

func (h *history) acknowledgedIsHandled() (v []string) {
	for _, room := range h.rooms {
		for _, id := range h.s.acked.of(room) {
			if state := h.inbox[id]; state != "handled" {
				v = append(v, fmt.Sprintf("event %s is %q in the inbox", id, state))
			}
		}
	}
	for id, state := range h.inbox {
		if state == "aside" {
			v = append(v, "event "+id+" was set aside")
		}
	}
	return v
}

func (h *history) askedOnce() (v []string) {
	for _, a := range h.asks {
		stored, listed := len(h.numbers[a.plan.number]), h.listed[a.plan.correlation(h.s.seed)]
		if stored > 1 || listed != stored || a.id != "" && stored == 0 {
			v = append(v, fmt.Sprintf("question %d (%q, confirmed %v) is stored %d times and listed %d times", a.plan.number, a.id, a.confirmed, stored, listed))
		}
	}
	return v
}

// sortOut finds what was redacted, and the messages that each question stands in.
func (h *history) sortOut() {
	h.redacted, h.posts = map[string]bool{}, map[int]int{}
	for _, e := range h.order {
		if e.Type == "m.room.redaction" {
			h.redacted[redactedBy(e)] = true
		}
	}
	for _, e := range h.order {
		if isQuestion(e) && !h.gone(e) {
			h.posts[questionNumber(e.Field("question"))]++
		}
	}
}

func (h *history) postedOnce() (v []string) {
	for _, a := range h.asks {
		posts := h.posts[a.plan.number]
		stored := len(h.numbers[a.plan.number]) > 0
		if posts > 1 || posts == 1 && !stored {
			v = append(v, fmt.Sprintf("question %d stands in the room %d times", a.plan.number, posts))
		}
		if !stored || posts > 0 {
			continue
		}
		q := h.numbers[a.plan.number][0]
		if q.State == bridge.Answered || q.Delivery.State == bridge.Posted {
			v = append(v, fmt.Sprintf("question %d is not in the room; it is %s and %+v", a.plan.number, q.State, q.Delivery))
		}
	}
	return v
}

func (h *history) answersAreReal() (v []string) {
	for id, q := range h.questions {
		if q.State != bridge.Answered {
			continue
		}
		e, ok := h.events[string(q.Answer.Event)]
		mark, chosen := markOf(e), ""
		if len(q.Answer.Items) == 1 && len(q.Answer.Items[0].Selected) == 1 {
			chosen = string(q.Answer.Items[0].Selected[0])
		}
		asked := questionNumber(q.Items[0].Prompt)
		if !ok || mark.ask != asked || mark.means == "" || mark.means != chosen || e.Sender != string(q.Answer.By.ID) || e.RoomID != string(q.Conversation) {
			v = append(v, fmt.Sprintf("question %s has the answer %q by %s, who said %+v: %s", id, chosen, q.Answer.By.ID, mark, e.Content))
		}
	}
	return v
}

func (h *history) silenceIsNoAnswer() (v []string) {
	for id, q := range h.questions {
		if (q.Answer != nil) != (q.State == bridge.Answered) {
			v = append(v, fmt.Sprintf("question %s is %s, with the answer %v", id, q.State, q.Answer))
		}
	}
	for _, a := range h.asks {
		for _, q := range h.numbers[a.plan.number] {
			if a.plan.silent != (q.State == bridge.Expired) {
				v = append(v, fmt.Sprintf("question %d is %s", a.plan.number, q.State))
			}
		}
	}
	return v
}

// toldOf is how a question ended, as everybody must hear it.
func toldOf(q bridge.Question) told {
	t := told{state: string(q.State)}
	if q.Answer != nil {
		t.responder = string(q.Answer.By.ID)
		t.value = string(q.Answer.Items[0].Selected[0])
	}
	return t
}

func (h *history) toldTheSame() (v []string) {
	for _, a := range h.asks {
		if len(h.numbers[a.plan.number]) == 0 || a.id == "" {
			continue
		}
		want := toldOf(h.numbers[a.plan.number][0])
		heard := a.told
		if a.cancelled != nil {
			heard = append(heard[:len(heard):len(heard)], *a.cancelled)
		}
		for _, got := range heard {
			if got != want {
				v = append(v, fmt.Sprintf("question %d ended as %+v, and a program was told %+v", a.plan.number, want, got))
			}
		}
	}
	return v
}

// outcomesAreTold wants one notice and one edit for every posted question, which say what is stored.
func (h *history) outcomesAreTold() (v []string) {
	type count struct{ notices, edits int }
	counts := map[string]*count{}
	for id := range h.questions {
		counts[id] = &count{}
	}
	for _, e := range h.order {
		id, purpose := purposeOf(sendKeyOf(e))
		count, known := counts[id]
		outcome := e.Field(outcomeField)
		switch {
		case e.Sender != bot || !known:
			continue
		case purpose == "settled/0/outcome" && e.MsgType() == "m.notice":
			count.notices++
		case purpose == "settled/0/edit" && e.Relation().Type == "m.replace":
			count.edits++
			outcome = e.Field("m.new_content", outcomeField)
		default:
			continue
		}
		q, said := h.questions[id], readOutcome(outcome)
		if want := toldOf(q); said.told != want || said.elicitation != q.ElicitationID || q.Answer != nil && said.event != string(q.Answer.Event) {
			v = append(v, fmt.Sprintf("question %s ended as %+v, and the room reads %+v", id, want, said))
		}
	}
	for id, count := range counts {
		want := h.posts[questionNumber(h.questions[id].Items[0].Prompt)]
		if count.notices != want || count.edits != want {
			v = append(v, fmt.Sprintf("question %s, posted %d times and %s, has %d notices and %d edits", id, want, h.questions[id].State, count.notices, count.edits))
		}
	}
	return v
}

// inRoom is an outcome as a room reads it.
type inRoom struct {
	told
	elicitation, event string
}

func readOutcome(outcome any) (t inRoom) {
	o, _ := outcome.(map[string]any)
	t.state, _ = o["state"].(string)
	t.value, _ = o["option_id"].(string)
	t.responder, _ = o["decided_by"].(string)
	t.elicitation, _ = o["elicitation_id"].(string)
	t.event, _ = o["answer_event_id"].(string)
	return t
}

func sendKeyOf(e testserver.Event) string {
	key, _ := e.Field("dev.superpipeline.question.send").(string)
	return key
}

// reactionsAreGone wants each number reaction at most once, and redacted by the end.
func (h *history) reactionsAreGone() (v []string) {
	put := map[string]int{}
	for id, send := range h.sends {
		question, purpose := purposeOf(send.Key)
		if purpose != "keycap" {
			continue
		}
		put[question]++
		if !h.gone(h.events[id]) {
			v = append(v, fmt.Sprintf("reaction %s (%s) still stands", id, send.Key))
		}
	}
	for id, n := range put {
		if options := len(h.questions[id].Items[0].Options); n > options {
			v = append(v, fmt.Sprintf("question %s got %d reactions for %d options", id, n, options))
		}
	}
	return v
}

func (h *history) nothingIsOwed() (v []string) {
	if h.waiting > 0 || h.owed > 0 || h.failed > 0 {
		v = append(v, fmt.Sprintf("%d events wait, %d effects are owed, %d were given up", h.waiting, h.owed, h.failed))
	}
	return v
}

// courtesyCodes tells the courtesies apart by how they begin.
var courtesyCodes = []string{"There is no option", "Already answered", "Only @"}

func (h *history) courtesiesOnce() (v []string) {
	seen := map[string]int{}
	for _, e := range h.order {
		question, purpose := purposeOf(sendKeyOf(e))
		if e.Sender != bot || purpose != "tell" {
			continue
		}
		code := e.Body()
		for _, known := range courtesyCodes {
			if strings.HasPrefix(code, known) {
				code = known
			}
		}
		seen[fmt.Sprint(question, " ", e.Field("m.mentions", "user_ids"), " ", code)]++
	}
	for what, n := range seen {
		if n > 1 {
			v = append(v, fmt.Sprintf("told %d times: %s", n, what))
		}
	}
	return v
}

// nothingElse wants every event of the bot to be one send that the database knows, of a kind that there is, or one that
// was taken back, and every other one to be a person's.
func (h *history) nothingElse() (v []string) {
	takenBack := 0
	kinds := map[string]bool{"render/0": true, "keycap": true, "settled/0/outcome": true, "settled/0/edit": true, "tell": true}
	for _, e := range h.order {
		switch {
		case e.Sender != bot:
			if markOf(e).ask == 0 {
				v = append(v, fmt.Sprintf("%s by %s: %s", e.Type, e.Sender, e.Content))
			}
		case e.Type == "m.room.redaction":
			target := redactedBy(e)
			send, known := h.sends[target]
			if _, purpose := purposeOf(send.Key); known && purpose != "keycap" {
				v = append(v, fmt.Sprintf("the bot redacted %s, which is %q", target, send.Key))
			}
		default:
			send, known := h.sends[e.ID]
			_, purpose := purposeOf(send.Key)
			switch key := sendKeyOf(e); {
			case !known && h.gone(e):
				takenBack++
			case !known || !kinds[purpose] || key != "" && key != send.Key:
				v = append(v, fmt.Sprintf("the bot's %s %s (%q) is the send %q: %s", e.Type, e.ID, key, send.Key, e.Content))
			}
		}
	}
	if lost := h.neverPushed(); lost > 0 {
		h.s.t.Logf("the homeserver has never pushed %d of %d events", lost, len(h.order))
	}
	if takenBack > 0 {
		h.s.t.Logf("%d messages were made twice of one send, and taken back", takenBack)
	}
	return v
}

// neverPushed counts what a homeserver that was killed shows in its rooms and has not pushed.
func (h *history) neverPushed() (n int) {
	for _, e := range h.order {
		if (e.Type == "m.room.message" || e.Type == "m.reaction") && h.inbox[e.ID] == "" {
			n++
		}
	}
	return n
}

// gone is true of what was redacted. A homeserver that crashes may lose one half of a redaction: Dendrite can forget to
// show the redaction, or show the event once more as it was.
func (h *history) gone(e testserver.Event) bool {
	return string(e.Content) == "{}" || h.redacted[e.ID]
}

func redactedBy(e testserver.Event) string {
	if e.Redacts != "" {
		return e.Redacts
	}
	inside, _ := e.Field("redacts").(string)
	return inside
}
