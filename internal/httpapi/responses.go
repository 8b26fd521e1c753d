package httpapi

import (
	"errors"
	"net/http"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/schema"
)

// respond takes a host's response to a query, with no token but the query's capability. Whoever has that gets a receipt for
// whatever is a response, and may read its status alone; anything else is a problem that says whether to try again
// (Approval and continuations, sections 2 and 3).
func (s *server) respond(w http.ResponseWriter, r *http.Request) error {
	receipt, err := s.receiptFor(w, r)
	if err != nil {
		return retryable(err)
	}
	return reply(w, statusOfReceipt(receipt), dialect.ToReceipt(receipt))
}

func (s *server) receiptFor(w http.ResponseWriter, r *http.Request) (collector.Receipt, error) {
	if err := s.spend(s.responseBudget(s.clientAddress(r))); err != nil {
		return collector.Receipt{}, err
	}
	capability, ok := bearer(r)
	if !ok {
		return collector.Receipt{}, newProblem(codeUnauthorized, "Send the query's delivery.capability as Authorization: Bearer ….").
			with("WWW-Authenticate", challenge)
	}
	id := gate.QueryID(r.PathValue("id"))
	if err := s.Gates.Admit(id, capability); err != nil {
		return collector.Receipt{}, err
	}
	raw, err := readBody(w, r)
	if err != nil {
		return collector.Receipt{}, err
	}
	body, err := schema.Decode[schema.Response](raw)
	if err != nil {
		return collector.Receipt{}, notAResponse(err)
	}
	response, err := dialect.FromResponse(body)
	if err != nil {
		return collector.Receipt{}, err
	}
	if response.Query != id {
		return collector.Receipt{}, &bridge.Error{Code: collector.CodeInvalidResponse, Field: "/queryId", Reason: "must be the query that the response is posted to"}
	}
	return s.Gates.Respond(r.Context(), response)
}

func notAResponse(err error) error {
	var refused *schema.Refusal
	if errors.As(err, &refused) {
		return problemOfRefusal(refused, codeOfResponseFault)
	}
	return err
}

// statusOfReceipt is the table from receipts to statuses, for whoever looks no further.
func statusOfReceipt(r collector.Receipt) int {
	switch {
	case r.Status == collector.ReceiptExpired:
		return http.StatusGone
	case collector.AlreadyAnswered(r):
		return http.StatusConflict
	case r.Status == collector.ReceiptRejected:
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}
