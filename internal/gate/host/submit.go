package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/schema"
)

// Caller makes one guarded call; *egress.Client does.
type Caller interface {
	Do(ctx context.Context, r egress.Request) (egress.Response, error)
}

// Submitter submits answers to their collectors. Its effects are of kind [EffectSubmit].
type Submitter struct {
	Store     Store
	Caller    Caller
	Clock     bridge.Clock
	Notifier  bridge.Notifier  // hears of every submission that ended
	Announcer bridge.Announcer // is told of every query that follows
}

// Run makes one try. A nil error means that the submission has ended, *bridge.ErrImpossible that it failed for good, and
// any other error is worth another try: under the same response id and with the same bytes, so that a collector which
// has it already says the same again.
func (s *Submitter) Run(ctx context.Context, f bridge.Effect) error {
	asked, ok, err := s.Store.QueryAskedBy(ctx, f.Question)
	if err != nil || !ok || asked.Status != Submitting {
		return err
	}
	q, err := s.Store.Question(ctx, f.Question)
	if err != nil {
		return err
	}
	ctx = zerolog.Ctx(ctx).With().Str("query_id", asked.Query.QueryID).Str("response_id", string(asked.Response)).Logger().WithContext(ctx)
	ended, err := s.try(ctx, f, asked, q)
	if err != nil {
		return err
	}
	return s.end(ctx, asked, q, ended)
}

// try gives how the submission ended, or why it has not. The first try is made whatever the time is: only the collector
// knows whether it is too late.
func (s *Submitter) try(ctx context.Context, f bridge.Effect, asked Asked, q bridge.Question) (Submission, error) {
	now := s.Clock.Now()
	if f.Attempts > 1 && !now.Before(q.ExpiresAt) {
		return failed(ReasonNoReceipt), nil
	}
	response := responseTo(asked, q)
	if response == nil {
		return failed(ReasonForgotten), nil
	}
	r, err := s.post(ctx, asked.Query.Delivery, response)
	var refused *egress.RefusedError
	switch {
	case errors.As(err, &refused):
		zerolog.Ctx(ctx).Warn().Str("reason", refused.Reason).Msg("The endpoint of a query is not called")
		return failed(ReasonEndpoint), nil
	case err != nil:
		return Submission{}, err
	}
	ended, err := judge(asked, q, r, now)
	if err == nil {
		return ended, nil
	}
	if wait := min(r.RetryAfter(now), q.ExpiresAt.Sub(now)); wait > 0 {
		return Submission{}, &bridge.ErrRetry{After: wait, Err: err}
	}
	return Submission{}, err
}

func failed(reason string) Submission { return Submission{Status: Failed, Reason: reason} }

// responseTo is what a host submits (section 2), always the same; nil where what the person typed is no more.
func responseTo(asked Asked, q bridge.Question) *schema.Response {
	answer := dialect.FromQueryAnswer(*q.Answer)
	if answer.Text != nil && q.Answer.By.ID == bridge.Forgotten {
		return nil
	}
	return &schema.Response{
		ProtocolVersion: schema.ProtocolVersion, QueryID: asked.Query.QueryID, ResponseID: string(asked.Response),
		Respondent: schema.Respondent{Kind: schema.RespondentHuman}, Provenance: schema.ProvenanceMediated,
		Answer: answer, RespondedAt: schema.Timestamp(q.Answer.At.UTC().Format(time.RFC3339)),
	}
}

func (s *Submitter) post(ctx context.Context, to schema.QueryDelivery, response *schema.Response) (egress.Response, error) {
	body, err := json.Marshal(response)
	if err != nil {
		return egress.Response{}, fmt.Errorf("encode a response: %w", err)
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if to.Capability != "" {
		header.Set("Authorization", "Bearer "+to.Capability)
	}
	return s.Caller.Do(ctx, egress.Request{Method: http.MethodPost, URL: to.Endpoint, Header: header, Body: body, Limit: schema.MaxBytes})
}

// judge reads what a collector answered: a receipt of this response, which ends the submission unless it says that another
// try is worth it, or something else. The error is why there is to be another try.
func judge(asked Asked, q bridge.Question, r egress.Response, now time.Time) (Submission, error) {
	receipt, next, err := schema.DecodeReceipt(r.Body)
	if err != nil || receipt.QueryID != asked.Query.QueryID || receipt.ResponseID != string(asked.Response) {
		if final(r) {
			return failed(ReasonRefused), nil
		}
		return Submission{}, fmt.Errorf("answered %d %s, and no receipt of the response", r.Status, http.StatusText(r.Status))
	}
	if receipt.Retryable {
		return Submission{}, fmt.Errorf("the receipt says %s, and to try again", receipt.Status)
	}
	out := Submission{Status: Status(receipt.Status), Reason: receipt.Reason, Receipt: receipt}
	switch {
	case next != nil:
		out.Refused = refusalOf(next)
	case receipt.NextQuery != nil:
		if out.Refused = follows(asked, q, receipt.NextQuery, now); out.Refused == "" {
			out.Next = receipt.NextQuery
		}
	}
	if out.Next != nil && out.Next.Delivery.Endpoint == "" {
		out.Next.Delivery.Endpoint = asked.Query.Delivery.Endpoint
	}
	receipt.NextQuery = nil
	return out, nil
}

// final says whether something that is no receipt is the last word: it says so itself by retryable, or else by a status
// that blames us. What looks like a success without a receipt is asked for it again.
func final(r egress.Response) bool {
	if r.Status < 300 {
		return false
	}
	var said struct {
		Retryable *bool `json:"retryable"`
	}
	if json.Unmarshal(r.Body, &said) == nil && said.Retryable != nil {
		return !*said.Retryable
	}
	switch r.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return r.Status < 500
}

// refusalOf says in a word what is wrong with the document of a query that follows.
func refusalOf(err error) Refusal {
	var refused *schema.Refusal
	if !errors.As(err, &refused) || refused.Rule() != schema.RuleContinuation {
		return RefusedMalformed
	}
	if refused.Faults[0].Location == "/nextQuery/queryId" {
		return RefusedNotNew
	}
	return RefusedUnconnected
}

// follows says why a query may not follow the answer to another one; "" where it may (section 3).
func follows(asked Asked, q bridge.Question, next *schema.Query, now time.Time) Refusal {
	expires, err := next.ExpiresAt.Time()
	switch {
	case q.Answer.Meaning == bridge.Reject:
		return RefusedAfterDecline
	case next.Subject != asked.Query.Subject:
		return RefusedSubject
	case err != nil || !now.Before(expires):
		return RefusedExpired
	}
	return ""
}

// end stores how the submission ended, with what that owes, and tells whoever waits.
func (s *Submitter) end(ctx context.Context, asked Asked, q bridge.Question, as Submission) error {
	ended := false
	err := s.Store.Atomically(ctx, func(ctx context.Context) (err error) {
		if as.Next != nil {
			known, err := s.Store.QueryKnown(ctx, gate.QueryID(as.Next.QueryID))
			if err != nil {
				return err
			}
			if known {
				as.Next, as.Refused = nil, RefusedNotNew
			}
		}
		if ended, err = s.Store.EndSubmission(ctx, q.ID, as); err != nil || !ended || as.Next == nil {
			return err
		}
		as.Response = asked.Response
		return s.Announcer.Announce(ctx, announcement(Asked{asked.Question, asked.Agent, asked.Query, as}, q, s.Clock.Now()))
	})
	if err != nil {
		return err
	}
	if ended {
		s.told(ctx, q.ID, as)
	}
	if as.Status == Failed {
		return &bridge.ErrImpossible{Reason: as.Reason}
	}
	return nil
}

// EventNextQuery is the webhook event that hands the query over which follows an answer.
const EventNextQuery = "question.next_query"

func announcement(asked Asked, q bridge.Question, at time.Time) bridge.Announcement {
	shown, next := asked.Show(q.State)
	return bridge.Announcement{
		Event: EventNextQuery, Key: string(q.ID), Question: q.ID, Conversation: q.Conversation, At: at,
		Body: map[string]any{
			"question_id": q.ID, "asker": q.Asker, "correlation_id": q.CorrelationID, "reply_to": q.ReplyTo, "gate": shown, "next_query": next,
		},
	}
}

func (s *Submitter) told(ctx context.Context, id bridge.QuestionID, as Submission) {
	log := zerolog.Ctx(ctx)
	log.Info().Str("status", string(as.Status)).Str("reason", as.Reason).Bool("followed", as.Next != nil).Msg("Submission ended")
	if as.Refused != "" {
		log.Warn().Str("refused", string(as.Refused)).Msg("The query that followed was not taken over")
	}
	s.Notifier.Notify(id)
}
