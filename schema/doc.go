// Package schema holds the wire formats of this project: what each document may look like, the rules it must keep,
// and the fallback body that belongs to a question.v2 event. It does no I/O and knows no engine.
//
// The documents are dev.superpipeline.question.v2 (the Matrix event), The Question Protocol 1.1 (ask body, question,
// answer, webhook event) and Approval and continuations, protocol version 2026-07-30 (query, response, receipt).
//
// [Decode] reads the bytes of a document once. It refuses with a [*Refusal] that says which rule refused, where, and
// what the limit was, and never repeats the value: refusals may be logged and shown to strangers.
package schema
