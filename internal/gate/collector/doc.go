// Package collector opens gated exchanges, after the document Approval and continuations: a person is asked for approval
// first, and only once they have approved is the protected query shown to anybody, as a continuation. A decline, silence
// and everything that is no clear answer leave it unseen.
//
// A response is decided by one conditional update, in one transaction with everything that it causes, so that of several
// at once one counts. What a capability is made of is derived from the query's id, and stored nowhere.
package collector
