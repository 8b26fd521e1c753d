package sqlstore_test

import (
	"reflect"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

var _ host.Store = (*sqlstore.Store)(nil)

const firstQuery, nextQuery gate.QueryID = "0198c7cb-1af1-7e79-bd7f-02f8a89b8857", "0198c7dd-4a50-7c2f-a084-f7f30cd8ec91"

func query(id gate.QueryID) schema.Query {
	return schema.Query{
		ProtocolVersion: schema.ProtocolVersion, QueryID: string(id), Type: schema.TypeApproval,
		Subject: schema.Principal{Kind: "user", ID: "u\x001", IDScope: "pairwise"}, RequestedRespondent: schema.RespondentHuman, Prompt: "May it?",
		Response: schema.ResponseFormat{Format: schema.FormatChoice, Choices: []string{"approved", "declined"}},
		Delivery: schema.QueryDelivery{Binding: "https", Endpoint: "https://queries.example/responses", Capability: "capability-of-this-query"},
	}
}

func handedIn(t *testing.T, s *sqlstore.Store, n int, id gate.QueryID) host.Asked {
	t.Helper()
	a := host.Asked{Question: ask(t, s, n, room).ID, Agent: "agent", Query: query(id), Submission: host.Submission{Status: host.Waiting}}
	noError(t, s.AddQuery(t.Context(), a))
	return a
}

func is(t *testing.T, what string, got host.Asked, want host.Asked) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\ngot  %+v\nwant %+v", what, got, want)
	}
}

// A query is found by its question and by who handed it in, and its submission begins and ends once.
func TestQueriesThatWereHandedIn(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s, ctx := d.open(t), t.Context()
		a := handedIn(t, s, 1, firstQuery)
		found := func(what string, want host.Asked) {
			t.Helper()
			got, ok, err := s.QueryOf(ctx, "agent", firstQuery)
			noError(t, err)
			equal(t, "found", ok, true)
			is(t, what, got, want)
			got, ok, err = s.QueryAskedBy(ctx, a.Question)
			noError(t, err)
			equal(t, "found", ok, true)
			is(t, what, got, want)
		}
		found("handed in", a)
		none := func(_ host.Asked, ok bool, err error) {
			t.Helper()
			noError(t, err)
			equal(t, "found", ok, false)
		}
		none(s.QueryOf(ctx, "a third", firstQuery))
		none(s.QueryOf(ctx, "agent", nextQuery))
		none(s.QueryAskedBy(ctx, "q_none"))
		err := s.AddQuery(ctx, host.Asked{Question: ask(t, s, 2, room).ID, Agent: "agent", Query: query(firstQuery)})
		equal(t, "handed in twice", bridge.CodeOf(err), host.CodeQueryConflict)
		noError(t, s.AddQuery(ctx, host.Asked{Question: ask(t, s, 3, room).ID, Agent: "another", Query: query(firstQuery)}))

		ended := host.Submission{
			Status: host.Accepted, Next: new(query(nextQuery)), Receipt: &schema.Receipt{QueryID: string(firstQuery), Status: schema.ReceiptAccepted},
		}
		equal(t, "ended before it began", must(s.EndSubmission(ctx, a.Question, ended))(t), false)
		a.Response, a.Status = "0198c7d0-2180-7729-b005-d33c99fc7452", host.Submitting
		noError(t, s.BeginSubmission(ctx, a.Question, a.Response))
		if s.BeginSubmission(ctx, a.Question, "0198c7d0-2180-7729-b005-d33c99fc7453") == nil {
			t.Error("a submission began twice")
		}
		found("begun", a)
		equal(t, "known", must(s.QueryKnown(ctx, firstQuery))(t), true)
		equal(t, "known", must(s.QueryKnown(ctx, nextQuery))(t), false)
		equal(t, "ended", must(s.EndSubmission(ctx, a.Question, ended))(t), true)
		ended.Response = a.Response
		a.Submission, a.Query.Delivery.Capability = ended, ""
		found("ended", a)
		equal(t, "ended twice", must(s.EndSubmission(ctx, a.Question, host.Submission{Status: host.Failed, Reason: "no"}))(t), false)
		found("ended twice", a)
		equal(t, "known", must(s.QueryKnown(ctx, nextQuery))(t), true)
		equal(t, "of a question that asks none", must(s.EndSubmission(ctx, "q_none", ended))(t), false)
	})
}

// A query that follows one is known from then on, and follows no other; what fails is kept with its reason.
func TestAQueryFollowsOnce(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s, ctx := d.open(t), t.Context()
		a, b := handedIn(t, s, 1, firstQuery), handedIn(t, s, 2, "0198c7cb-1af1-7e79-bd7f-02f8a89b8858")
		ended := host.Submission{Status: host.Accepted, Next: new(query(nextQuery)), Receipt: &schema.Receipt{}}
		for _, q := range []bridge.QuestionID{a.Question, b.Question} {
			noError(t, s.BeginSubmission(ctx, q, "0198c7d0-2180-7729-b005-d33c99fc7452"))
		}
		equal(t, "ended", must(s.EndSubmission(ctx, a.Question, ended))(t), true)
		if _, err := s.EndSubmission(ctx, b.Question, ended); err == nil {
			t.Error("a query followed two")
		}
		failed := host.Submission{Status: host.Failed, Reason: "no_receipt", Refused: ""}
		equal(t, "ended", must(s.EndSubmission(ctx, b.Question, failed))(t), true)
		got, _, err := s.QueryAskedBy(ctx, b.Question)
		noError(t, err)
		failed.Response = "0198c7d0-2180-7729-b005-d33c99fc7452"
		if !reflect.DeepEqual(got.Submission, failed) {
			t.Errorf("ended as %+v", got.Submission)
		}
	})
}

// The database itself refuses what must not be, and forgets a query with its question.
func TestHostChecks(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		a := handedIn(t, s, 1, firstQuery)
		for _, bad := range []string{
			`UPDATE host_queries SET status = 'open'`,
			`UPDATE host_queries SET status = 'submitting'`,
			`UPDATE host_queries SET response_id = 'x'`,
			`UPDATE host_queries SET status = 'accepted', response_id = 'x'`,
			`UPDATE host_queries SET status = 'failed', response_id = 'x', receipt = '{}'`,
			`UPDATE host_queries SET status = 'accepted', response_id = 'x', receipt = '{}', next_query = '{}'`,
			`UPDATE host_queries SET status = 'rejected', response_id = 'x', receipt = '{}', next_query = '{}', next_query_id = 'y'`,
			`UPDATE host_queries SET status = 'accepted', response_id = 'x', receipt = '{}', next_query = '{}', next_query_id = 'y', refused = 'not_new'`,
			`UPDATE host_queries SET question = 'q_none'`,
		} {
			if _, err := s.Database().Exec(t.Context(), bad); err == nil {
				t.Errorf("accepted: %s", bad)
			}
		}
		run(t, s, `DELETE FROM questions`)
		_, ok, err := s.QueryAskedBy(t.Context(), a.Question)
		noError(t, err)
		equal(t, "kept without its question", ok, false)
	})
}
