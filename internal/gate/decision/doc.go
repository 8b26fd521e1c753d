// Package decision remembers what people decided about gated exchanges, where the exchange asks for it and they were told
// so, and lets them look at it and take it back (Approval and continuations, "Durable decisions").
//
// A decision counts for one agent's requester and purpose and for one principal, and is authorization for these alone: it
// proves nobody's identity. Whom it is about is kept as an HMAC of all of these, so that what is remembered of one person
// for two requesters cannot be told to be of one. Who made it is kept, so that they find it again.
//
// Whatever changes what stands under such a key moves its revision on by one, and only what was asked for at that revision
// is stored: of two answers to questions that were open at the same time, the second says nothing about what the person
// wants now. If it contradicts the first, neither counts, and they are asked again.
package decision
