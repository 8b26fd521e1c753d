package queue

import "superpipeline.dev/question-bridge/bridge"

// Recognition is what a reply to a candidate is: one of [Chosen], [Deflected] and [Unrecognized].
type Recognition interface{ recognition() }

// Chosen names exactly one option, by its place from 0.
type Chosen struct{ Option int }

// Deflected declines to answer ("not sure").
type Deflected struct{}

// Unrecognized is anything else, also a reply that names several options.
type Unrecognized struct{}

func (Chosen) recognition()       {}
func (Deflected) recognition()    {}
func (Unrecognized) recognition() {}

// Recognize says what a reply means, as [bridge.Named] and [bridge.Deflects] read it; rooms read by them, too. (Question
// Queue, "Answer recognition".)
func Recognize(options []Option, reply string) Recognition {
	if i, ok := bridge.Named(labelled(options), reply); ok {
		return Chosen{i}
	}
	if bridge.Deflects(reply) {
		return Deflected{}
	}
	return Unrecognized{}
}

func labelled(options []Option) []bridge.Option {
	out := make([]bridge.Option, len(options))
	for i, o := range options {
		out[i].Label = o.Label // an empty id names nothing
	}
	return out
}
