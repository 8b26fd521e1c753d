package queue

import (
	"crypto/rand"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// CandidateID names a candidate; [NewCandidateID] makes one.
type CandidateID string

// NewCandidateID makes an unguessable id: "c_" and 26 characters.
func NewCandidateID() CandidateID { return CandidateID("c_" + strings.ToLower(rand.Text())) }

// Turn is the host's count of its turns. It is at least 0, and only grows.
type Turn int64

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
	Targets []Target
	Options []Option
	// Disjunction names the disjunction that this is about; "" for none. An answered one is asked again only under another.
	Disjunction string
	CueTokens   []string // sorted, each once; see [CueTokens]

	Status        Status
	AskCount      int
	DeliveredTurn *Turn
	CreatedTurn   Turn
	ExpiresTurn   Turn // the last turn on which it may be delivered
	LastSeenTurn  Turn
	CooldownUntil *Turn // not delivered before it
	AnswerOption  *int  // of Options, from 0; what was typed is never kept

	CreatedAt time.Time
	Question  bridge.QuestionID // how it was asked last, where the bridge asked it; ""
	Leader    CandidateID       // of an equal candidate of the group, whose delivery was this one's too; ""
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

// Deliverable says whether its status lets it be delivered on a turn.
func (c Candidate) Deliverable(turn Turn) bool {
	return c.Status == Pending || c.Status == Cooled && (c.CooldownUntil == nil || turn >= *c.CooldownUntil)
}

// Lapsed says whether a candidate waited too long for its delivery, also one that cooled.
func (c Candidate) Lapsed(turn Turn) bool {
	return (c.Status == Pending || c.Status == Cooled) && turn > c.ExpiresTurn
}

// Ignored says whether it was delivered and nobody replied in time.
func (c Candidate) Ignored(turn Turn) bool {
	return c.Status == Delivered && c.DeliveredTurn != nil && turn >= *c.DeliveredTurn+CooldownTurns
}

func (k Kind) known() bool { return k == Disjunction || k == Confirmation || k == Referent }

func (s Signal) known() bool {
	return s == SignalDisjunction || s == SignalGateRefusal || s == SignalEvidenceGap
}
