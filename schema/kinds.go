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
	{kindAsk, func(raw []byte) (any, error) { return DecodeAsk(raw) }},
	kindOf[Question](),
	kindOf[Questions](),
	kindOf[AnswerBody](),
	kindOf[AnswerEnvelope](),
	kindOf[WebhookEvent](),
	kindOf[Query](),
	kindOf[Response](),
	kindOf[Receipt](),
}

func kindOf[T any, P interface {
	*T
	document
}]() Kind {
	return Kind{P(nil).definition().kind, func(raw []byte) (any, error) {
		doc, err := Decode[T, P](raw)
		if err != nil {
			return nil, err
		}
		return doc, nil
	}}
}
