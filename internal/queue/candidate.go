package queue

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// CandidateID names a candidate; [NewCandidateID] makes one.
type CandidateID string

// NewCandidateID makes an unguessable id: "c_" and 26 characters.
func NewCandidateID() CandidateID { return CandidateID("c_" + strings.ToLower(rand.Text())) }

// Turn is the host's count of its turns. It is 0 to [MaxTurn], and only grows.
type Turn int64

// CodeInvalidTurn is a turn outside of its limits.
const CodeInvalidTurn bridge.Code = "invalid_turn"

// Check says whether the turn is within its limits; the error is a *bridge.Error with [CodeInvalidTurn].
func (t Turn) Check() error {
	if t < 0 || t > MaxTurn {
		return &bridge.Error{Code: CodeInvalidTurn, Field: "/turn", Reason: turnRule}
	}
	return nil
}

var turnRule = fmt.Sprintf("must be 0 to %d", MaxTurn)

// Kind is what kind of uncertainty a candidate is about; it is one of three.
type Kind string

// The kinds (Question Queue, "Data model").
const (
	Disjunction  Kind = "disjunction"
	Confirmation Kind = "confirmation"
	Referent     Kind = "referent"
)

// Signal is what showed the uncertainty; it is one of three.
type Signal string

// The ambiguity signals (Question Queue, "Data model").
const (
	SignalDisjunction Signal = "disjunction"
	SignalGateRefusal Signal = "gate_refusal"
	SignalEvidenceGap Signal = "evidence_gap"
)

// Status is where a candidate stands.
type Status string

// The statuses (Question Queue, "Statuses").
const (
	Pending   Status = "pending"
	Delivered Status = "delivered"
	Answered  Status = "answered"
	Cooled    Status = "cooled" // its reply was none; it may be asked again after its cooldown
	Expired   Status = "expired"
)

// Candidate is a question that somebody would like to have asked.
type Candidate struct {
	ID     CandidateID
	Agent  bridge.AgentID
	Text   string
	Kind   Kind
	Signal Signal
	Source string // which module proposed it; "" where nothing was said
	// Targets are the facts that the answer would resolve.
	Targets     []Target
	Options     []Option
	Disjunction string   // the host's id of the disjunction that it is about; "" for none
	CueTokens   []string // see [CueTokens]

	Status        Status
	AskCount      int
	CreatedTurn   Turn
	ExpiresTurn   Turn  // the last turn on which it may be delivered
	LastSeenTurn  Turn  // when the ambiguity, or one of the targets, was met last
	DeliveredTurn *Turn // of the last delivery; nil before the first
	CooldownUntil *Turn // of a cooled one: not delivered before it
	ResolvedTurn  *Turn // when it was answered, cooled or expired; nil while it is pending or delivered
	AnswerOption  *int  // of Options, from 0, of an answered one; what was typed is never kept

	CreatedAt time.Time
	Question  bridge.QuestionID // how it was asked last, where the bridge asked it; ""
	Leader    CandidateID       // an equal candidate of the group, whose last delivery was this one's too; ""
	Applied   bool              // its answer's evidence is counted
}

// Target is a fact that an answer is about, by the host's key for it.
type Target struct {
	Key string
	// Confidence asks for the ledger also where a candidate's kind records its answer only.
	Confidence bool
}

// Option is one answer with its own effects: choosing it says that the facts of Acted were borne out, and those of
// Contradicted were not.
type Option struct {
	Label        string
	Acted        []string
	Contradicted []string
}

// Open says whether the candidate may still be answered or asked.
func (c Candidate) Open() bool {
	return c.Status == Pending || c.Status == Delivered || c.Status == Cooled
}

// Gate says whether a candidate is worth a question now: its signal is known, and it was used within the last
// [RecentUseTurns] turns. One that was used in the future does not pass. (Question Queue, "The gate".)
func (c Candidate) Gate(turn Turn) bool {
	age := turn - c.LastSeenTurn
	return c.Signal.known() && age >= 0 && age <= RecentUseTurns
}

// Deliverable says whether a candidate may be delivered on a turn: it is pending or past its cooldown, has not lapsed and
// passes the gate.
func (c Candidate) Deliverable(turn Turn) bool {
	waits := c.Status == Pending || c.Status == Cooled && (c.CooldownUntil == nil || turn >= *c.CooldownUntil)
	return waits && !c.Lapsed(turn) && c.Gate(turn)
}

// Lapsed says whether a candidate waited too long for its delivery, also one that cooled.
func (c Candidate) Lapsed(turn Turn) bool {
	return (c.Status == Pending || c.Status == Cooled) && turn > c.ExpiresTurn
}

// Ignored says whether it was delivered and nobody replied in time.
func (c Candidate) Ignored(turn Turn) bool {
	return c.Status == Delivered && c.DeliveredTurn != nil && turn >= *c.DeliveredTurn+CooldownTurns
}

// Kept says whether a candidate is younger than its retention, which begins when it is resolved, and before that with its
// last use.
func (c Candidate) Kept(turn Turn) bool {
	since := c.LastSeenTurn
	if c.ResolvedTurn != nil {
		since = *c.ResolvedTurn
	}
	return turn-since <= RetentionTurns
}

// CompareDelivery is negative where a goes first in the order of delivery: the latest LastSeenTurn, then the fewest asks,
// then the oldest CreatedTurn, then the least id.
func CompareDelivery(a, b Candidate) int {
	return cmp.Or(cmp.Compare(b.LastSeenTurn, a.LastSeenTurn), cmp.Compare(a.AskCount, b.AskCount),
		cmp.Compare(a.CreatedTurn, b.CreatedTurn), cmp.Compare(a.ID, b.ID))
}

// Equal says whether one answer answers both candidates: their kind, text and options are the same, in the same order,
// case and punctuation aside. Whose they are and what they are about does not matter.
func (c Candidate) Equal(other Candidate) bool {
	return c.Kind == other.Kind && bridge.Plain(c.Text) == bridge.Plain(other.Text) &&
		slices.EqualFunc(c.Options, other.Options, func(a, b Option) bool { return bridge.Plain(a.Label) == bridge.Plain(b.Label) })
}

// The candidate after each move.

func (c Candidate) delivered(turn Turn, q bridge.QuestionID, leader CandidateID) Candidate {
	c.Status, c.AskCount, c.DeliveredTurn = Delivered, c.AskCount+1, &turn
	c.Question, c.Leader, c.CooldownUntil, c.ResolvedTurn = q, leader, nil, nil
	return c
}

func (c Candidate) answered(turn Turn, option int) Candidate {
	c.Status, c.AnswerOption, c.ResolvedTurn = Answered, &option, &turn
	return c
}

func (c Candidate) cooled(turn, until Turn) Candidate {
	c.Status, c.CooldownUntil, c.ResolvedTurn = Cooled, &until, &turn
	return c
}

func (c Candidate) expired(turn Turn) Candidate {
	c.Status, c.CooldownUntil, c.ResolvedTurn = Expired, nil, &turn
	return c
}

func (k Kind) known() bool { return k == Disjunction || k == Confirmation || k == Referent }

func (s Signal) known() bool {
	return s == SignalDisjunction || s == SignalGateRefusal || s == SignalEvidenceGap
}
