package schema

import "slices"

// Kind is one kind of document, for tools that learn the kind at run time. Code that knows it uses [Decode].
type Kind struct {
	// Name is how a corpus calls it, for example "dev.superpipeline.question.v2".
	Name   string
	decode func(raw []byte) (any, error)
}

// Decode reads one document of this kind, as [Decode] does. The value is a pointer to the document's type.
func (k Kind) Decode(raw []byte) (any, error) { return k.decode(raw) }

// Kinds lists every kind of document, question.v2 first.
func Kinds() []Kind { return slices.Clone(kinds) }

// KindNamed finds a kind by its name.
func KindNamed(name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

var kinds = []Kind{
	kindOf[Elicitation](),
	{EventType + "/built", build},
	{kindAsk, func(raw []byte) (any, error) { return DecodeAsk(raw) }},
	kindOf[Question](),
	kindOf[Questions](),
	kindOf[AnswerBody](),
	kindOf[OpenIDToken](),
	kindOf[Session](),
	kindOf[AnswerEnvelope](),
	kindOf[WebhookEvent](),
	kindOf[Grant](),
	kindOf[Grants](),
	kindOf[GrantEvent](),
	kindOf[Query](),
	kindOf[Response](),
	kindOf[Receipt](),
	kindOf[QueryAsk](),
	kindOf[GateOpening](),
	kindOf[Gate](),
	kindOf[Gates](),
	kindOf[GateEvent](),
	kindOf[Decision](),
	kindOf[Decisions](),
	kindOf[Proposal](),
	kindOf[Proposed](),
	kindOf[NextBody](),
	kindOf[NextCandidate](),
	kindOf[ReplyBody](),
	kindOf[ReplyResult](),
	kindOf[KeysBody](),
	kindOf[TurnBody](),
	kindOf[Candidate](),
	kindOf[Candidates](),
	kindOf[Evidence](),
	kindOf[Callback](),
	kindOf[StalenessCheck](),
	kindOf[StaleCandidates](),
}

// build reads a question.v2 event as one that we are asked to send, which keeps more rules.
func build(raw []byte) (any, error) {
	e, err := Decode[Elicitation](raw)
	if err != nil {
		return nil, err
	}
	content, err := e.Build(BuildOptions{})
	if err != nil {
		return nil, err
	}
	return content, nil
}

func kindOf[T any, P interface {
	*T
	Document
}]() Kind {
	return Kind{P(nil).definition().kind, func(raw []byte) (any, error) {
		doc, err := Decode[T, P](raw)
		if err != nil {
			return nil, err
		}
		return doc, nil
	}}
}
