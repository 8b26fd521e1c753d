package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/grant"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// granted stores a question that was answered so many minutes after start, and what its answer granted.
func granted(t *testing.T, s *sqlstore.Store, n int, changes ...func(*bridge.Question)) grant.Grant {
	t.Helper()
	lapses := start.Add(24 * time.Hour)
	q := question(n)
	q.RunID, q.Subject = "run_12", &bridge.Subject{SubjectRef: bridge.SubjectRef{ID: "op", Digest: "sha256:x", Schema: "v1", Revision: 3}, LapsesAt: &lapses}
	q.Items[0].Options[0] = bridge.Option{ID: "always", Label: "Always", Meaning: bridge.Approve, Grant: bridge.GrantAlways, Requires: bridge.RequiresWorkspaceAdmin}
	for _, change := range changes {
		change(&q)
	}
	noError(t, s.CreateQuestion(t.Context(), q))
	at := start.Add(time.Duration(n) * time.Minute)
	q = must2(s.Settle(t.Context(), bridge.Settlement{Question: q.ID, State: bridge.Answered, Revision: -1, At: q.CreatedAt, Answer: &bridge.Answer{
		Choice: bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"always"}}}}, Meaning: bridge.Approve, Grant: bridge.GrantAlways,
		By: bridge.Responder{ID: "@alice:example.org"}, At: at,
	}}))(t)
	g := grant.Grant{ID: grant.ID(fmt.Sprintf("g%05d", n)), Question: q, Conversation: q.Conversation}
	g.Granted, _ = q.Granted()
	equal(t, "added", must(s.AddGrant(t.Context(), g))(t), true)
	return g
}

func forEver(q *bridge.Question) { q.Subject = nil }

func in(conv bridge.ConversationID) func(*bridge.Question) {
	return func(q *bridge.Question) { q.Conversation = conv }
}

func by(asker bridge.AgentID) func(*bridge.Question) {
	return func(q *bridge.Question) { q.Asker = asker }
}

func revoking(g grant.Grant, at time.Time) grant.Revoking {
	return grant.Revoking{Grant: g.ID, By: "@bob:example.org", At: at}
}

// listed wants grants listed page by page, newest first.
func listed(t *testing.T, s *sqlstore.Store, l grant.Listing, want ...grant.Grant) {
	t.Helper()
	ids := func(all []grant.Grant) (ids []grant.ID) {
		for _, g := range all {
			ids = append(ids, g.ID)
		}
		return ids
	}
	var got []grant.Grant
	for l.Limit = 2; ; {
		page, next, err := s.ListGrants(t.Context(), l)
		noError(t, err)
		got = append(got, page...)
		if l.Cursor = next; next == "" {
			break
		}
	}
	if !reflect.DeepEqual(ids(got), ids(want)) {
		t.Errorf("%+v\nlisted %v, want %v", l, ids(got), ids(want))
	}
}

// What [grant.Store] promises.
func TestGrantStore(t *testing.T) {
	for name, promise := range map[string]func(t *testing.T, s *sqlstore.Store){
		"a grant is stored whole": func(t *testing.T, s *sqlstore.Store) {
			g := granted(t, s, 1)
			if got := must(s.Grant(t.Context(), g.ID))(t); !reflect.DeepEqual(got, g) || got.Until == nil || got.Run == "" || got.Option.Requires == "" {
				t.Errorf("got  %+v\nwant %+v", got, g)
			}
			if _, err := s.Grant(t.Context(), "gzzzzz"); bridge.CodeOf(err) != grant.CodeUnknown {
				t.Errorf("another id: %v", err)
			}
		},
		"an id is one grant's, and a question gives one": func(t *testing.T, s *sqlstore.Store) {
			g, other := granted(t, s, 1), granted(t, s, 2)
			twin := other
			twin.ID = g.ID
			equal(t, "added under an id that is taken", must(s.AddGrant(t.Context(), twin))(t), false)
			twin.ID = "gother"
			if _, err := s.AddGrant(t.Context(), twin); err == nil {
				t.Error("a question gave two")
			}
		},
		"a grant is stored with the answer that gave it, or not at all": func(t *testing.T, s *sqlstore.Store) {
			g := granted(t, s, 1)
			q := answeredBefore(t, s, 2)
			stop := errors.New("stop")
			err := s.Atomically(t.Context(), func(ctx context.Context) error {
				must(s.AddGrant(ctx, grant.Grant{ID: "gother", Question: q, Granted: g.Granted}))(t)
				return stop
			})
			equal(t, "error", err, stop)
			listed(t, s, grant.Listing{Asker: "agent"}, g)
		},
		"lists are an asker's or a room's, by state": func(t *testing.T, s *sqlstore.Store) {
			var all []grant.Grant
			for n := range 5 {
				all = append([]grant.Grant{granted(t, s, n)}, all...)
			}
			revoked, always := all[3], granted(t, s, 10, forEver)
			elsewhere, another := granted(t, s, 11, in("!other:example.org")), granted(t, s, 12, by("another"))
			equal(t, "revoked", must(s.RevokeGrant(t.Context(), revoking(revoked, start.Add(time.Hour))))(t), true)
			before, after := start.Add(24*time.Hour-time.Millisecond), start.Add(24*time.Hour)
			listed(t, s, grant.Listing{Asker: "agent"}, append([]grant.Grant{elsewhere, always}, all...)...)
			listed(t, s, grant.Listing{Asker: "agent", State: grant.Revoked, Now: after}, revoked)
			listed(t, s, grant.Listing{Asker: "agent", State: grant.Active, Now: before}, elsewhere, always, all[0], all[1], all[2], all[4])
			listed(t, s, grant.Listing{Asker: "agent", State: grant.Active, Now: after}, always)
			listed(t, s, grant.Listing{Asker: "agent", State: grant.Lapsed, Now: before})
			listed(t, s, grant.Listing{Asker: "agent", State: grant.Lapsed, Now: after}, elsewhere, all[0], all[1], all[2], all[4])
			listed(t, s, grant.Listing{Asker: "nobody"})
			listed(t, s, grant.Listing{})
			listed(t, s, grant.Listing{Conversations: []bridge.ConversationID{"!other:example.org", "!none:example.org"}}, elsewhere)
			listed(t, s, grant.Listing{Conversations: []bridge.ConversationID{"!other:example.org", room}, State: grant.Active, Now: before},
				another, elsewhere, always, all[0], all[1], all[2], all[4])
			if _, _, err := s.ListGrants(t.Context(), grant.Listing{Asker: "agent", Cursor: "x"}); bridge.CodeOf(err) != bridge.CodeInvalidCursor {
				t.Errorf("a cursor of nobody: %v", err)
			}
		},
		"a grant moves to where its room goes on, and its question stays": func(t *testing.T, s *sqlstore.Store) {
			a, b, other := granted(t, s, 1), granted(t, s, 2), granted(t, s, 3, in("!other:example.org"))
			noError(t, s.MoveGrants(t.Context(), room, "!new:example.org"))
			listed(t, s, grant.Listing{Conversations: []bridge.ConversationID{room}})
			listed(t, s, grant.Listing{Conversations: []bridge.ConversationID{"!new:example.org"}}, b, a)
			listed(t, s, grant.Listing{Conversations: []bridge.ConversationID{"!other:example.org"}}, other)
			if got := must(s.Grant(t.Context(), a.ID))(t); got.Conversation != "!new:example.org" || got.Question.Conversation != room {
				t.Errorf("it stands in %s, asked in %s", got.Conversation, got.Question.Conversation)
			}
		},
		"of those who take a grant back at once, one does": func(t *testing.T, s *sqlstore.Store) {
			g := granted(t, s, 1)
			var won atomic.Int32
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					revoked, err := s.RevokeGrant(t.Context(), grant.Revoking{Grant: g.ID, By: bridge.UserID(fmt.Sprint("@u", i)), At: start})
					if err != nil {
						t.Error(err)
					}
					if revoked {
						won.Add(1)
					}
				})
			}
			all.Wait()
			equal(t, "won", won.Load(), 1)
		},
		"what lapsed is not taken back, nor what is not there": func(t *testing.T, s *sqlstore.Store) {
			g := granted(t, s, 1)
			equal(t, "revoked at the end", must(s.RevokeGrant(t.Context(), revoking(g, *g.Until)))(t), false)
			equal(t, "revoked before it", must(s.RevokeGrant(t.Context(), revoking(g, g.Until.Add(-time.Millisecond))))(t), true)
			equal(t, "revoked again", must(s.RevokeGrant(t.Context(), revoking(g, start)))(t), false)
			got := must(s.Grant(t.Context(), g.ID))(t)
			if got.RevokedBy != "@bob:example.org" || !got.RevokedAt.Equal(g.Until.Add(-time.Millisecond)) {
				t.Errorf("revoked by %s at %s", got.RevokedBy, got.RevokedAt)
			}
			equal(t, "revoked nothing", must(s.RevokeGrant(t.Context(), revoking(grant.Grant{ID: "gzzzzz"}, start)))(t), false)
		},
		"a grant stays as long as its question, which is kept as it says": func(t *testing.T, s *sqlstore.Store) {
			kept, gone := granted(t, s, 1), granted(t, s, 2)
			noError(t, s.KeepQuestion(t.Context(), kept.Question.ID, grant.Never))
			noError(t, s.KeepQuestion(t.Context(), gone.Question.ID, start))
			equal(t, "forgotten", must(s.Forget(t.Context(), start, 9))(t), 1)
			equal(t, "forgotten in a thousand years", must(s.Forget(t.Context(), start.AddDate(1000, 0, 0), 9))(t), 0)
			listed(t, s, grant.Listing{Asker: "agent"}, kept)
		},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, d database) { promise(t, d.open(t)) })
		})
	}
}

// The database itself refuses what must not be.
func TestGrantChecks(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		granted(t, s, 1)
		for _, bad := range []string{
			`UPDATE grants SET revoked_at = 1`,
			`UPDATE grants SET revoked_by = '@bob:example.org'`,
			`UPDATE grants SET revoked_at = lapses_at, revoked_by = '@bob:example.org'`,
			`UPDATE grants SET question = 'q_none'`,
		} {
			if _, err := s.Database().Exec(t.Context(), bad); err == nil {
				t.Errorf("accepted: %s", bad)
			}
		}
		run(t, s, `UPDATE grants SET revoked_at = lapses_at - 1, revoked_by = '@bob:example.org'`)
	})
}
