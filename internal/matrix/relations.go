package matrix

// relation is what an event says about another one, in every shape that clients send. An empty target means that the
// relation is broken.
type relation struct {
	kind    relationKind
	target  string
	replyTo string // a real reply: in a thread only where is_falling_back is not true
	quoted  bool   // m.in_reply_to is there, real or not: the body may begin with a quote
	key     string // of a reaction
}

type relationKind int

const (
	unrelated relationKind = iota
	threaded
	replying
	annotating
	replacing
	referring
	unknownRelation // one that we do not know, or one that contradicts itself
)

// threadRelations are the names of a thread: clients use the second with homeservers that advertise no newer
// specification.
var threadRelations = map[string]bool{"m.thread": true, "io.element.thread": true}

// readRelation reads m.relates_to. In a thread, m.in_reply_to is meant only when is_falling_back is not true; what it
// points at otherwise is of no interest. (Field case A3.)
func readRelation(content object) relation {
	if !content.has("m.relates_to") {
		return relation{}
	}
	rel := content.object("m.relates_to")
	if rel == nil {
		return relation{kind: unknownRelation}
	}
	replyTo := rel.object("m.in_reply_to").string("event_id")
	r := relation{target: rel.string("event_id"), quoted: rel.has("m.in_reply_to")}
	if !rel.has("rel_type") {
		if replyTo == "" {
			return relation{kind: unknownRelation, quoted: r.quoted}
		}
		return relation{kind: replying, replyTo: replyTo, quoted: true}
	}
	kind := rel.string("rel_type")
	if r.target == "" {
		return relation{kind: unknownRelation}
	}
	switch {
	case threadRelations[kind]:
		r.kind = threaded
		if !rel.isTrue("is_falling_back") {
			r.replyTo = replyTo
		}
	case kind == "m.annotation":
		r.kind, r.key = annotating, rel.string("key")
	case kind == "m.replace":
		r.kind = replacing
	case kind == "m.reference":
		r.kind = referring
		r.replyTo = replyTo
	default:
		if replyTo != "" { // a reply all the same, whatever else it is
			return relation{kind: replying, replyTo: replyTo, quoted: true}
		}
		r.kind = unknownRelation
	}
	return r
}
