package httpapi

import (
	"net/http"
	"strings"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/internal/grant"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/schema"
)

// The codes that only this API gives; the others are the domain's.
const (
	codeMalformed         bridge.Code = "malformed"         // not a document of the shape that is expected here
	codeTooLarge          bridge.Code = "too_large"         // the body, its data, or the event that it would become
	codeTooSlow           bridge.Code = "request_timeout"   // the body did not come in time
	codeInvalidParameter  bridge.Code = "invalid_parameter" // of the query string
	codeInvalidKey        bridge.Code = "invalid_idempotency_key"
	codeUnauthorized      bridge.Code = "unauthorized"       // no bearer token
	codeInvalidToken      bridge.Code = "invalid_token"      // not one of ours, revoked or expired
	codeInsufficientScope bridge.Code = "insufficient_scope" // a token that may not do this
	codeWrongToken        bridge.Code = "wrong_token_kind"   // an agent's where a person's is needed, or the reverse
	codeOpenIDUsed        bridge.Code = "openid_token_used"  // a token signs in once
	codeSignInOff         bridge.Code = "sign_in_off"        // nobody may, by the configuration
	codeNoRoute           bridge.Code = "not_found"
	codeMethod            bridge.Code = "method_not_allowed"
	codeRateLimited       bridge.Code = "rate_limited"
	codeNotReady          bridge.Code = "not_ready"
	codeUnavailable       bridge.Code = "unavailable"
	codeInternal          bridge.Code = "internal"
)

type kind struct {
	status int
	title  string
}

// kinds is the one table from codes to statuses.
var kinds = map[bridge.Code]kind{
	codeMalformed:            {http.StatusBadRequest, "Malformed document"},
	codeInvalidParameter:     {http.StatusBadRequest, "Invalid query parameter"},
	bridge.CodeInvalidCursor: {http.StatusBadRequest, "Invalid cursor"},
	codeInvalidKey:           {http.StatusBadRequest, "Invalid Idempotency-Key"},

	codeUnauthorized: {http.StatusUnauthorized, "A bearer token is needed"},
	codeInvalidToken: {http.StatusUnauthorized, "The bearer token is not valid"},

	bridge.CodeOpenIDRefused: {http.StatusUnauthorized, "The OpenID token is not valid"},
	codeOpenIDUsed:           {http.StatusUnauthorized, "The OpenID token was used already"},

	codeInsufficientScope:     {http.StatusForbidden, "The token may not do this"},
	codeWrongToken:            {http.StatusForbidden, "Another kind of token is needed"},
	bridge.CodeRoomNotGranted: {http.StatusForbidden, "The token is not for this room"},
	bridge.CodeNotEligible:    {http.StatusForbidden, "Not eligible to answer"},
	bridge.CodeAdminsOnly:     {http.StatusForbidden, "Only workspace admins may choose this"},

	bridge.CodeWeakSignIn:      {http.StatusForbidden, "This needs a responder token"},
	bridge.CodeServerNotListed: {http.StatusForbidden, "People of this homeserver cannot sign in"},
	codeSignInOff:              {http.StatusForbidden, "Nobody can sign in"},
	collector.CodeNoEndpoint:   {http.StatusForbidden, "Nobody can open gates"},

	codeNoRoute:            {http.StatusNotFound, "There is nothing here"},
	bridge.CodeNotFound:    {http.StatusNotFound, "No such question"},
	bridge.CodeRoomUnknown: {http.StatusNotFound, "No such room"},

	queue.CodeCandidateUnknown: {http.StatusNotFound, "No such candidate"},
	collector.CodeGateUnknown:  {http.StatusNotFound, "No such gate"},
	collector.CodeQueryUnknown: {http.StatusNotFound, "No such query"},
	decision.CodeUnknown:       {http.StatusNotFound, "No such decision"},
	grant.CodeUnknown:          {http.StatusNotFound, "No such grant"},

	codeMethod: {http.StatusMethodNotAllowed, "Method not allowed"},

	codeTooSlow: {http.StatusRequestTimeout, "The request took too long"},

	bridge.CodeRoomUnanswerable:    {http.StatusConflict, "Nobody could answer in this room"},
	bridge.CodeElicitationConflict: {http.StatusConflict, "Another question has this elicitation_id"},
	bridge.CodeIdempotencyConflict: {http.StatusConflict, "Another request had this Idempotency-Key"},
	bridge.CodeSubjectConflict:     {http.StatusConflict, "The subject was asked about differently"},
	bridge.CodePreviewIncomplete:   {http.StatusConflict, "What would be approved is not fully shown"},
	bridge.CodeSubjectLapsed:       {http.StatusConflict, "What would be approved has lapsed"},
	bridge.CodeQuestionRemoved:     {http.StatusConflict, "The question was removed from its room"},
	bridge.CodeSubjectMismatch:     {http.StatusConflict, "What would be approved is something else"},
	host.CodeQueryConflict:         {http.StatusConflict, "Another query has this queryId"},

	codeTooLarge: {http.StatusRequestEntityTooLarge, "Too large"},

	bridge.CodeInvalidQuestion:    {http.StatusUnprocessableEntity, "Invalid question"},
	bridge.CodeTargetNotPermitted: {http.StatusUnprocessableEntity, "The target cannot answer"},
	bridge.CodeInvalidOption:      {http.StatusUnprocessableEntity, "No such option"},
	bridge.CodeTextNotInvited:     {http.StatusUnprocessableEntity, "No text was invited"},
	bridge.CodeTextTooLong:        {http.StatusUnprocessableEntity, "The text is too long"},
	bridge.CodeCommentMissing:     {http.StatusUnprocessableEntity, "A comment is needed"},
	bridge.CodeInputMissing:       {http.StatusUnprocessableEntity, "An input is needed"},
	bridge.CodeInputInvalid:       {http.StatusUnprocessableEntity, "The input is not valid"},
	bridge.CodeInputNotInvited:    {http.StatusUnprocessableEntity, "No input was invited"},
	bridge.CodeUnsupported:        {http.StatusUnprocessableEntity, "Not supported"},
	bridge.CodeNotByReply:         {http.StatusUnprocessableEntity, "Not by this way of answering"},
	bridge.CodeOutOfRange:         {http.StatusUnprocessableEntity, "No such number"},
	bridge.CodeAmbiguous:          {http.StatusUnprocessableEntity, "More than one option"},
	bridge.CodeNotText:            {http.StatusUnprocessableEntity, "Not text"},
	bridge.CodeUnreadable:         {http.StatusUnprocessableEntity, "It cannot be decrypted"},
	bridge.CodeDeviceUntrusted:    {http.StatusUnprocessableEntity, "The device is not trusted"},
	bridge.CodeStructuredInvalid:  {http.StatusUnprocessableEntity, "The structured answer is not valid"},
	queue.CodeInvalidCandidate:    {http.StatusUnprocessableEntity, "Invalid candidate"},
	queue.CodeInvalidTurn:         {http.StatusUnprocessableEntity, "Invalid turn"},
	queue.CodeInvalidCallback:     {http.StatusUnprocessableEntity, "Invalid callback"},
	collector.CodeInvalidGate:     {http.StatusUnprocessableEntity, "Invalid gate"},
	collector.CodeInvalidResponse: {http.StatusUnprocessableEntity, "Invalid response"},
	gate.CodeInvalidQuery:         {http.StatusUnprocessableEntity, "Invalid query"},
	host.CodeQueryExpired:         {http.StatusUnprocessableEntity, "The query has expired"},
	host.CodeEndpointRefused:      {http.StatusUnprocessableEntity, "The endpoint is not called"},

	codeRateLimited:          {http.StatusTooManyRequests, "Too many requests"},
	bridge.CodeQuotaExceeded: {http.StatusTooManyRequests, "Too many pending questions"},

	codeInternal:    {http.StatusInternalServerError, "Internal error"},
	codeUnavailable: {http.StatusServiceUnavailable, "Unavailable"},
	codeNotReady:    {http.StatusServiceUnavailable, "Not ready"},
}

// codeOfRefusal says how a refused document is refused: malformed if any fault is that, else too large if one is, else
// as its first fault.
func codeOfRefusal(r *schema.Refusal, codeOf func(schema.Fault) bridge.Code) bridge.Code {
	code := codeOf(r.Faults[0])
	for _, f := range r.Faults {
		switch codeOf(f) {
		case codeMalformed:
			return codeMalformed
		case codeTooLarge:
			code = codeTooLarge
		}
	}
	return code
}

// codeOfAnswerFault is the table from the rules of package schema to codes for the answer of a person. No question has an
// option or item whose name is too long for the schema, and invites text that is.
func codeOfAnswerFault(f schema.Fault) bridge.Code {
	switch f.Rule {
	case schema.RuleJSON, schema.RuleSize:
		return codeOfFault(f)
	case schema.RuleSchema:
		named := f.Location == "/value" || strings.Contains(f.Location, "/selected/") || strings.HasSuffix(f.Location, "/header")
		switch {
		case f.Keyword != "maxLength" || strings.HasPrefix(f.Location, "/subject/"):
		case named:
			return bridge.CodeInvalidOption
		default:
			return bridge.CodeTextTooLong
		}
	}
	return codeMalformed
}

// codeOfSignInFault is the table for what people sign in with: too_large for what is larger than any document, else malformed.
func codeOfSignInFault(f schema.Fault) bridge.Code {
	if f.Rule == schema.RuleJSON && f.Keyword == "size" {
		return codeTooLarge
	}
	return codeMalformed
}

// codeOfProposalFault is the table for what producers propose: whatever is JSON and no proposal is invalid_candidate.
func codeOfProposalFault(f schema.Fault) bridge.Code {
	if f.Rule == schema.RuleJSON {
		return codeOfFault(f)
	}
	return queue.CodeInvalidCandidate
}

// codeOfTurnFault is the table for the other calls that a host makes once a turn: too_large and malformed as everywhere,
// and invalid_turn for a turn out of its limits. All else that they say is malformed if it is wrong.
func codeOfTurnFault(f schema.Fault) bridge.Code {
	switch {
	case f.Location == "/turn" && (f.Keyword == "minimum" || f.Keyword == "maximum"):
		return queue.CodeInvalidTurn
	case f.Rule == schema.RuleJSON:
		return codeOfFault(f)
	}
	return codeMalformed
}

// codeOfGateFault is the table for what opens a gate: as for an ask, with invalid_gate in place of invalid_question.
func codeOfGateFault(f schema.Fault) bridge.Code {
	return orElse(codeOfFault(f), collector.CodeInvalidGate)
}

// codeOfResponseFault is the table for the response to a query, in the same way.
func codeOfResponseFault(f schema.Fault) bridge.Code {
	return orElse(codeOfFault(f), collector.CodeInvalidResponse)
}

// orElse gives the own code of a document that is no question, where one that is would be refused as that.
func orElse(code, own bridge.Code) bridge.Code {
	if code == bridge.CodeInvalidQuestion {
		return own
	}
	return code
}

// codeOfCallbackFault is the table for a callback that a host registers.
func codeOfCallbackFault(f schema.Fault) bridge.Code {
	if f.Location == "/url" && (f.Keyword == "minLength" || f.Keyword == "maxLength") {
		return queue.CodeInvalidCallback
	}
	return codeOfTurnFault(f)
}

// codeOfFault is the table from the rules of package schema to codes for what an asker sends:
//
//	json, by its keyword size                         too_large         413
//	json, every other keyword                         malformed         400
//	schema, by the keywords type, required, oneOf,    malformed         400
//	  anyOf and false
//	nul                                               malformed         400
//	size                                              too_large         413
//	every other keyword and rule                      invalid_question  422
func codeOfFault(f schema.Fault) bridge.Code {
	switch f.Rule {
	case schema.RuleJSON:
		if f.Keyword == "size" {
			return codeTooLarge
		}
		return codeMalformed
	case schema.RuleNUL:
		return codeMalformed
	case schema.RuleSize:
		return codeTooLarge
	case schema.RuleSchema:
		switch f.Keyword {
		case "type", "required", "oneOf", "anyOf", "false":
			return codeMalformed
		}
	}
	return bridge.CodeInvalidQuestion
}

func bodyTooLarge() *Problem {
	return problemOfRefusal(&schema.Refusal{Faults: []schema.Fault{{
		Rule: schema.RuleJSON, Keyword: "size", Limit: schema.MaxBytes, Reason: "is larger than 65536 bytes",
	}}}, codeOfFault).with("Connection", "close") // the rest of the body is not read
}
