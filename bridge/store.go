package bridge

import (
	"context"
	"encoding/json"
	"time"
)

// Store keeps questions, postings and effects. Every method is atomic by itself; inside [Store.Atomically] they share
// one write transaction, which travels in the ctx handed to f. Times are kept to the millisecond, in UTC. Unknown ids
// give a *Error with CodeNotFound.
type Store interface {
	// Atomically runs f in one write transaction: all of it is stored, or nothing, also when f panics. Inside another
	// one it joins that. A question or posting that f reads stays as it was read until the end. f may run again when
	// the database gave way to somebody else: it starts over, and whatever it changes outside the store it sets anew. What it
	// puts off with [AfterCommit] is done after the commit of the outermost one, and not at all without one.
	Atomically(ctx context.Context, f func(ctx context.Context) error) error

	// CreateQuestion stores a pending question. An equal (asker, elicitation id) gives CodeElicitationConflict.
	CreateQuestion(ctx context.Context, q Question) error
	// Question reads one question.
	Question(ctx context.Context, id QuestionID) (Question, error)
	// QuestionByElicitation finds what an asker called by this id.
	QuestionByElicitation(ctx context.Context, asker AgentID, elicitation string) (Question, error)
	// ListQuestions gives newest first, and the cursor of the next page, "" on the last. A cursor that it did not give
	// out is CodeInvalidCursor.
	ListQuestions(ctx context.Context, l Listing) ([]Question, string, error)
	// PendingIn gives the pending questions of a conversation, oldest first.
	PendingIn(ctx context.Context, conv ConversationID, limit int) ([]Question, error)
	// PendingAfter gives the pending questions of several conversations together, newest first; those that stand after a
	// place in that order, where one is given.
	PendingAfter(ctx context.Context, convs []ConversationID, after *Place, limit int) ([]Question, error)
	// AskedAbout gives what an asker asked in a conversation about any revision of a subject: the pending questions, and
	// those about the highest revision. Nobody else asks about it until the transaction ends.
	AskedAbout(ctx context.Context, asker AgentID, conv ConversationID, subject string) ([]Question, error)
	// QuotaReached says whether as many questions are pending as a quota lets: of an asker, and in a conversation, whoever
	// asked them. Whoever calls it next for the same asker or conversation waits until the transaction ends, so that
	// nobody goes beyond a quota together.
	QuotaReached(ctx context.Context, asker AgentID, conv ConversationID, quota Quota) (byAsker, there bool, err error)
	// SettledSince says whether a question of the conversation was settled after a time.
	SettledSince(ctx context.Context, conv ConversationID, at time.Time) (bool, error)

	// Settle moves one pending question into a terminal state by one conditional update, which for an answer also
	// demands that at be before the deadline and the revision be the one given (-1 for any). won is false when the
	// question was no longer pending, past its deadline or at another revision; q is the question as it then stands.
	Settle(ctx context.Context, s Settlement) (q Question, won bool, err error)
	// ExpireDue settles every pending question whose deadline is at or before now, at most limit, the earliest first, and
	// says which.
	ExpireDue(ctx context.Context, now time.Time, limit int) ([]Lapsed, error)
	// NextDeadline is the earliest deadline of a pending question; ok is false when there is none.
	NextDeadline(ctx context.Context) (at time.Time, ok bool, err error)
	// SetDelivery records how far a question came.
	SetDelivery(ctx context.Context, id QuestionID, d Delivery) error
	// MoveQuestion makes a pending question one of another conversation, with its delivery queued. Its posting keeps its
	// progress and has no messages there yet; those of the old posting stay linked. A settled one stays where it is.
	MoveQuestion(ctx context.Context, id QuestionID, to ConversationID) error
	// Forget deletes settled questions at or past their ForgetAfter with everything that hangs on them, at most limit.
	Forget(ctx context.Context, now time.Time, limit int) (int, error)

	// Posting reads a question's posting; a question never posted has an empty one.
	Posting(ctx context.Context, id QuestionID) (Posting, error)
	// SavePosting replaces messages, asides, progress and the Moving mark, and links the messages and asides to the
	// question for good. A Seq of 0 leaves the one that SeenMessage recorded.
	SavePosting(ctx context.Context, p Posting) error
	// Advance moves the question to revision+1 with the new progress, if it is pending at that revision. moving marks
	// the posting as not yet showing its step; ChangedAt stays until the step is saved.
	Advance(ctx context.Context, id QuestionID, revision int, progress json.RawMessage, moving bool) (bool, error)
	// LinkMessage ties a message that we sent to its question for good, whatever becomes of the posting. A message that
	// is linked stays with its first question.
	LinkMessage(ctx context.Context, conv ConversationID, m MessageID, id QuestionID) error
	// QuestionOf finds the question that a message of the conversation belongs to; ok is false when it is none of ours.
	QuestionOf(ctx context.Context, conv ConversationID, m MessageID) (id QuestionID, ok bool, err error)
	// SeenMessage ties a message to its question as LinkMessage does, and records where its echo stands and when it says
	// that it was sent; the first echo counts. A posting's message or aside has both from then on.
	SeenMessage(ctx context.Context, e Echo) error

	// KeepReply remembers which question an unmatched reply was about, for a later correction or withdrawal of it.
	KeepReply(ctx context.Context, r Reply) error
	// Reply finds a kept reply; ok is false when there is none.
	Reply(ctx context.Context, id InteractionID) (r Reply, ok bool, err error)
	// DropReply forgets a kept reply, if there is one.
	DropReply(ctx context.Context, id InteractionID) error
	// FirstTime records a key and says whether it was new: courtesies are told once.
	FirstTime(ctx context.Context, id QuestionID, key string) (bool, error)

	// KeepResponse keeps the response to a request about a question; isNew is false, and nothing changes, when one is kept
	// under its RequestID already. Whoever keeps one at the same time waits for the other's transaction to end.
	KeepResponse(ctx context.Context, r KeptResponse) (isNew bool, err error)
	// Response finds the response that was kept for a request; ok is false when there is none.
	Response(ctx context.Context, id RequestID) (r KeptResponse, ok bool, err error)

	// FinishInteraction marks an interaction as handled and erases its content. One that did not come by the inbox, or
	// is finished already, is no error.
	FinishInteraction(ctx context.Context, id InteractionID) error

	Outbox
}

// Outbox keeps what is owed after commit. Effects of one question and lane are claimed in the order they were added;
// lanes do not wait for each other.
type Outbox interface {
	AddEffects(ctx context.Context, effects ...Effect) error
	// ClaimEffects leases at most limit due effects, those that are due longest: no other claim gives them out before the
	// lease ends. An effect whose question and lane have an earlier unfinished one is not due. Each claim counts as an
	// attempt.
	ClaimEffects(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]Effect, error)
	// FinishEffect removes a done effect.
	FinishEffect(ctx context.Context, id int64) error
	// PostponeEffect makes a claimed effect due again at a later time: it has to wait, and nothing is wrong.
	PostponeEffect(ctx context.Context, id int64, due time.Time, why string) error
	// RetryEffect makes a claimed effect that failed due again at a later time, and counts the failure.
	RetryEffect(ctx context.Context, id int64, due time.Time, why string) error
	// HastenEffects makes the effects of a question in the lane "" due now, whatever they wait for, except a claimed one.
	HastenEffects(ctx context.Context, id QuestionID, now time.Time) error
	// FailEffect keeps an effect as given up, visible to the operator and out of its question's way.
	FailEffect(ctx context.Context, id int64, why string) error
	// NextEffect is when the next effect can be claimed; ok is false when there is none.
	NextEffect(ctx context.Context) (at time.Time, ok bool, err error)
}

// Lapsed is a question that expired.
type Lapsed struct {
	ID           QuestionID
	Asker        AgentID
	Conversation ConversationID
}

// Settlement is the one move into a terminal state.
type Settlement struct {
	Question    QuestionID
	State       State // Answered or Cancelled; questions expire by ExpireDue
	Revision    int   // -1 for any
	Answer      *Answer
	CancelledBy CancelledBy
	DismissedBy UserID // with ByResponder
	Reason      string
	At          time.Time
}

// Listing selects an asker's questions, or those that anybody asked in a conversation.
type Listing struct {
	Asker         AgentID
	Conversation  ConversationID // in place of Asker
	State         State          // "" for every state
	CorrelationID *string        // of an asker's
	Limit         int            // 1–200
	Cursor        string
}

// Reply is something that was tied to a question by a relation and answered nothing yet.
type Reply struct {
	ID           InteractionID
	Conversation ConversationID
	Sender       UserID
	Question     QuestionID
	Step         int // which item was shown when it was read
	Encrypted    bool
}

// Effect is work owed after commit.
type Effect struct {
	ID       int64 // given by the store
	Kind     EffectKind
	Question QuestionID      // "" for none: then it waits for no other
	Lane     string          // what must run in order within a question; "" for its messages in its conversation
	Key      string          // stable: the same effect has the same key however often it is tried
	Payload  json.RawMessage // what the kind needs beside the question
	Due      time.Time       // of a claimed one, the end of its lease
	Attempts int             // including the one that a claim begins
	Failures int             // how many of them failed: those that had to wait did not
}

// EffectKind is what an effect does; each kind has one handler.
type EffectKind string

// The kinds that the engine adds.
const (
	EffectRender  EffectKind = "render"  // post the question
	EffectUpdate  EffectKind = "update"  // post its next step
	EffectSettled EffectKind = "settled" // close its messages and say how it ended
	EffectTell    EffectKind = "tell"    // one courtesy; payload is a Courtesy; tried once
	EffectRemind  EffectKind = "remind"  // one reminder, at its time
)

// InboxEvent is one event as a homeserver pushed it, stored before it was acknowledged.
type InboxEvent struct {
	Seq          int64 // order of receipt, given by the store
	ID           InteractionID
	Conversation ConversationID
	ReceivedAt   time.Time
	Raw          json.RawMessage
	Attempts     int
}
