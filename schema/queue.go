package schema

import (
	"encoding/json"
	"time"
)

// Proposal is what a producer would like to have asked (Question Queue, "Data model"). Its agent is the one whose token
// hands it in.
type Proposal struct {
	Turn            int              `json:"turn"`
	QuestionText    string           `json:"question_text"`    // 1–2000 characters
	Kind            string           `json:"kind"`             // disjunction, confirmation or referent
	AmbiguitySignal string           `json:"ambiguity_signal"` // disjunction, gate_refusal or evidence_gap
	SourceModule    string           `json:"source_module,omitempty"`
	TargetKeys      []Target         `json:"target_keys,omitempty"` // at most 100, each key once
	Options         []ProposalOption `json:"options"`               // 1–20, with labels that differ
	DisjunctionID   string           `json:"disjunction_id,omitempty"`
}

// Target is a fact that an answer is about. On the wire it is the bare key, unless it asks for the ledger of confidences
// where a candidate's kind records its answer only.
type Target struct {
	Key        string `json:"key"` // 1–255 characters
	Confidence bool   `json:"confidence,omitempty"`
}

// Keys makes targets of bare keys.
func Keys(keys ...string) []Target {
	targets := make([]Target, len(keys))
	for i, key := range keys {
		targets[i].Key = key
	}
	return targets
}

// plainTarget is a target as an object.
type plainTarget Target

// MarshalJSON implements [json.Marshaler].
func (t Target) MarshalJSON() ([]byte, error) {
	if t.Confidence {
		return json.Marshal(plainTarget(t))
	}
	return json.Marshal(t.Key)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Target) UnmarshalJSON(raw []byte) error {
	*t = Target{}
	if err := json.Unmarshal(raw, &t.Key); err == nil {
		return nil
	}
	return json.Unmarshal(raw, (*plainTarget)(t))
}

func (t *Target) assignTree(tree any) {
	if key, ok := tree.(string); ok {
		*t = Target{Key: key}
		return
	}
	assignTree((*plainTarget)(t), tree)
}

// ProposalOption is one answer with its own effects: the facts that choosing it bears out, and those that it contradicts.
type ProposalOption struct {
	Label        string   `json:"label"` // 1–200 characters
	Acted        []string `json:"acted,omitempty"`
	Contradicted []string `json:"contradicted,omitempty"`
}

// Proposed is what became of a proposal. Candidate is what stands, nil where it was dropped or the queue is disabled.
type Proposed struct {
	Outcome   string     `json:"outcome"` // proposed, touched, duplicate, dropped or disabled
	Candidate *Candidate `json:"candidate"`
}

// NextBody asks for the next question, once per turn.
type NextBody struct {
	Turn int `json:"turn"`
	// QueryCues is what the turn is about; nil for whatever is next.
	QueryCues *Cues `json:"query_cues,omitempty"`
	// Room asks it there, by code, room id or alias; "" leaves that to the host. What follows is for a room alone.
	Room           string   `json:"room,omitempty"`
	ResponderScope string   `json:"responder_scope,omitempty"` // direct or room; "" for direct with a target, else room
	TargetUserID   string   `json:"target_user_id,omitempty"`  // a Matrix id, for direct scope only
	TTL            *Seconds `json:"ttl,omitempty"`             // nil for 7 days
}

// Scope is the responder scope with its default filled in.
func (b NextBody) Scope() string {
	return AskTerms{ResponderScope: b.ResponderScope, TargetUserID: b.TargetUserID}.Scope()
}

// Lifetime is how long the question in a room waits for an answer: 7 days by default, clamped to 30 s–30 days.
func (b NextBody) Lifetime() time.Duration {
	return clamp(b.TTL, ElicitationDefaultLifetime, ElicitationMinLifetime, ElicitationMaxLifetime)
}

// Cues are texts or tokens. On the wire they are one text or a list.
type Cues []string

func (c *Cues) assignTree(tree any) {
	switch t := tree.(type) {
	case string:
		*c = Cues{t}
	case []any:
		*c = make(Cues, 0, len(t))
		for _, item := range t {
			*c = append(*c, item.(string)) // or its schema had refused it
		}
	}
}

// NextCandidate is the one question that may be asked on a turn; nil for none.
type NextCandidate struct {
	Candidate *Candidate `json:"candidate"`
}

// ReplyBody is what a person replied to a candidate. The text is read and kept nowhere.
type ReplyBody struct {
	AnswerText string `json:"answer_text"`
	Turn       int    `json:"turn"`
}

// ReplyResult is what became of a reply (Question Queue, "Fail-closed behavior").
type ReplyResult struct {
	Applied     bool   `json:"applied"`
	Reason      string `json:"reason"`       // applied, cooled, not_open, apply_failed, disabled or error
	OptionIndex *int   `json:"option_index"` // that was chosen, from 0
}

// KeysBody names facts that the host used on a turn, or that are gone.
type KeysBody struct {
	Keys []string `json:"keys"` // at most 100
	Turn int      `json:"turn"`
}

// TurnBody is a turn alone.
type TurnBody struct {
	Turn int `json:"turn"`
}

// Updated says of how many candidates the last use moved forwards.
type Updated struct {
	Updated int `json:"updated"`
}

// ExpiredCandidates says how many candidates expired.
type ExpiredCandidates struct {
	Expired int `json:"expired"`
}

// Pruned says how many candidates were deleted.
type Pruned struct {
	Pruned int `json:"pruned"`
}

// Candidate is a question that somebody would like to have asked, as it stands (Question Queue, "Data model").
type Candidate struct {
	CandidateID     string           `json:"candidate_id"`
	AgentID         string           `json:"agent_id"`
	QuestionText    string           `json:"question_text"`
	Kind            string           `json:"kind"`
	AmbiguitySignal string           `json:"ambiguity_signal"`
	SourceModule    *string          `json:"source_module"`
	TargetKeys      []Target         `json:"target_keys"`
	Options         []ProposalOption `json:"options"`
	DisjunctionID   *string          `json:"disjunction_id"`
	CueTokens       []string         `json:"cue_tokens"` // what it is recognized as relevant by

	Status        string `json:"status"` // pending, delivered, answered, cooled or expired
	AskCount      int    `json:"ask_count"`
	CreatedTurn   int    `json:"created_turn"`
	ExpiresTurn   int    `json:"expires_turn"` // the last turn on which it may be delivered
	LastSeenTurn  int    `json:"last_seen_turn"`
	DeliveredTurn *int   `json:"delivered_turn"`
	CooldownUntil *int   `json:"cooldown_until"` // it is not delivered before this turn
	ResolvedTurn  *int   `json:"resolved_turn"`  // when it was answered, cooled or expired
	AnswerOption  *int   `json:"answer_option"`  // of Options, from 0

	CreatedAt  Timestamp `json:"created_at"`
	QuestionID *string   `json:"question_id"` // the question in a room that asked it last
	LeaderID   *string   `json:"leader_id"`   // another agent's equal candidate, whose last delivery was this one's too
}

// Candidates is a page of an agent's, newest first.
type Candidates struct {
	Candidates []Candidate `json:"candidates"`
	NextCursor *string     `json:"next_cursor"` // nil on the last page
}

// Evidence is what answers said about one fact (Question Queue, "Answers are evidence").
type Evidence struct {
	Key        string  `json:"key"`
	Confidence float64 `json:"confidence"` // 0 to 1; 0.5 before anything was said
	Count      int     `json:"count"`      // observations, at most 20: more weigh the same
}

// Callback is where the host is asked which candidates are stale; a nil URL is nowhere.
type Callback struct {
	URL *string `json:"url"` // 1–2000 characters
}

// StalenessCheck is what a callback is sent.
type StalenessCheck struct {
	Candidates []Candidate `json:"candidates"`
}

// StaleCandidates is what a callback answers: which of them are about something that is no more.
type StaleCandidates struct {
	Stale []string `json:"stale"` // candidate ids
}
