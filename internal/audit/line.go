package audit

import (
	"superpipeline.dev/question-bridge/bridge"
)

// line is one line of the log, in this order. What is empty is left out. Fields may be added, none is renamed.
type line struct {
	Time     string                `json:"time"` // RFC 3339, UTC, with milliseconds
	Action   bridge.AuditAction    `json:"action"`
	Question bridge.QuestionID     `json:"question_id,omitempty"`
	Room     bridge.ConversationID `json:"room_id,omitempty"`
	Agent    bridge.AgentID        `json:"agent,omitempty"`
	User     bridge.UserID         `json:"user,omitempty"`
	Via      bridge.Via            `json:"via,omitempty"`
	Code     bridge.Code           `json:"code,omitempty"`
	Chosen   []bridge.AuditChoice  `json:"chosen,omitempty"`
	Meaning  bridge.Meaning        `json:"meaning,omitempty"`
	Event    bridge.InteractionID  `json:"event_id,omitempty"`
	Request  string                `json:"request_id,omitempty"`
	Token    string                `json:"token_id,omitempty"`
}

func lineOf(r bridge.AuditRecord) line {
	return line{
		Time: r.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Action: r.Action, Question: r.Question, Room: r.Conversation,
		Agent: r.Agent, User: r.User, Via: r.Via, Code: r.Code, Chosen: r.Chosen, Meaning: r.Meaning, Event: r.Event,
		Request: r.Request, Token: r.Token,
	}
}
