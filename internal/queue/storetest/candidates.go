package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/queue"
)

var errStop = errors.New("stop")

// whole is a candidate with something in every field but CooldownUntil, which an answered one has not.
func whole(k *kit) queue.Candidate {
	delivered, resolved, option := queue.Turn(1<<40), queue.MaxTurn, 1
	return k.candidate(func(c *queue.Candidate) {
		c.Text, c.Source, c.Disjunction = "Größe <b>\u2028\x00", "a module", "a disjunction"
		c.Targets = []queue.Target{{Key: "key <é> \x00"}, {Key: "b", Confidence: true}}
		c.Options = []queue.Option{{Label: "<é>", Acted: []string{"a"}, Contradicted: []string{"b", "c"}}, {Label: "no"}}
		c.CueTokens = []string{"one", "two"}
		c.Status, c.AskCount, c.DeliveredTurn, c.ResolvedTurn, c.AnswerOption = queue.Answered, 3, &delivered, &resolved, &option
		c.CreatedTurn, c.ExpiresTurn, c.LastSeenTurn = 7, 1<<50, 1<<45
		c.Question, c.Leader, c.Applied = "q_1", "c_leader", true
	})
}

var candidates = []promise{
	{"a candidate is stored whole", func(k *kit) {
		c := whole(k)
		for i, v := 0, reflect.ValueOf(c); i < v.NumField(); i++ {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "CooldownUntil" {
				k.Errorf("the test says nothing of %s", name)
			}
		}
		k.OK(k.AddCandidate(k.Context(), c))
		k.Is("stored", k.stored(c), c)
		plain := k.add()
		k.Is("stored without anything that may be absent", k.stored(plain), plain)
		cooled := k.add(deliveredOn(1), cooledOn(2))
		k.Is("stored, cooled", k.stored(cooled), cooled)
	}},
	{"an id is one candidate's", func(k *kit) {
		c := k.add()
		if err := k.AddCandidate(k.Context(), c); err == nil {
			k.Error("stored twice")
		}
	}},
	{"somebody else's candidate is unknown", func(k *kit) {
		c := k.add()
		for _, read := range []queue.Candidate{{Agent: "another", ID: c.ID}, {Agent: agent, ID: "c_none"}} {
			if _, err := k.Candidate(k.Context(), read.Agent, read.ID); bridge.CodeOf(err) != queue.CodeCandidateUnknown {
				k.Errorf("got %v", err)
			}
		}
	}},
	{"a candidate is stored with everything, or not at all", func(k *kit) {
		c := k.candidate()
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			k.OK(k.AddCandidate(ctx, c))
			return errStop
		})
		k.Is("error", err, errStop)
		k.are("about", demand.Got(k.CandidatesAbout(k.Context(), agent, []string{c.Targets[0].Key}))(k))
	}},
	{"a question has one candidate, which follows nobody", func(k *kit) {
		asked := func(c *queue.Candidate) { c.Question = "q_1" }
		leader := k.add(deliveredOn(0), asked)
		k.add(deliveredOn(0), asked, of("another"), func(c *queue.Candidate) { c.Leader = leader.ID })
		c, ok, err := k.CandidateOf(k.Context(), "q_1")
		k.OK(err)
		k.Is("found", ok, true)
		k.Is("candidate", c, leader)
		_, ok, err = k.CandidateOf(k.Context(), "q_2")
		k.OK(err)
		k.Is("found", ok, false)
	}},
	{"a list is newest first, in pages", func(k *kit) {
		atOnce := func(c *queue.Candidate) { c.CreatedAt = start }
		oldest := k.add(deliveredOn(0), atOnce)
		all := []queue.Candidate{k.add(atOnce), oldest} // the later id first
		for i := range 3 {
			c := k.add()
			if i != 1 {
				c = k.move(c, deliveredOn(0))
			}
			all = slices.Insert(all, 0, c)
		}
		k.add(of("another"))
		read := func(status queue.Status, limit int) (pages [][]queue.Candidate) {
			for cursor := ""; len(pages) == 0 || cursor != ""; {
				page, next, err := k.ListCandidates(k.Context(), queue.Listing{Agent: agent, Status: status, Limit: limit, Cursor: cursor})
				k.OK(err)
				pages, cursor = append(pages, page), next
			}
			return pages
		}
		k.Is("pages", read("", 2), [][]queue.Candidate{{all[0], all[1]}, {all[2], all[3]}, {all[4]}})
		k.Is("one page", read("", 5), [][]queue.Candidate{all})
		k.Is("delivered", read(queue.Delivered, 2), [][]queue.Candidate{{all[0], all[2]}, {oldest}})
		_, _, err := k.ListCandidates(k.Context(), queue.Listing{Agent: agent, Limit: 1, Cursor: "!"})
		k.Is("a bad cursor", bridge.CodeOf(err), bridge.CodeInvalidCursor)
	}},
}

// candidatesIn gives one candidate of each status, resolved on a turn where it is; the open ones come first.
func candidatesIn(k *kit, turn queue.Turn, changes ...func(*queue.Candidate)) (open, closed []queue.Candidate) {
	add := func(then ...func(*queue.Candidate)) queue.Candidate {
		return k.add(append(changes[:len(changes):len(changes)], then...)...)
	}
	open = []queue.Candidate{add(), add(deliveredOn(turn)), add(deliveredOn(0), cooledOn(turn))}
	return open, []queue.Candidate{add(answeredOn(turn)), add(expiredOn(turn))}
}

var finding = []promise{
	{"what a proposal may repeat has its text, one of its keys or its disjunction, and is open or was answered since", func(k *kit) {
		for _, one := range []struct {
			name   string
			change func(*queue.Candidate)
			like   queue.Similarity
		}{
			{"text", func(c *queue.Candidate) { c.Text = "Is  IT so" }, queue.Similarity{Text: "is it so?"}},
			{"a key", func(c *queue.Candidate) { c.Targets = []queue.Target{{Key: "a"}, {Key: "b"}} }, queue.Similarity{Text: "?", Keys: []string{"x", "b", "a"}}},
			{"a disjunction", func(c *queue.Candidate) { c.Disjunction = "d" }, queue.Similarity{Text: "?", Disjunction: "d"}},
		} {
			open, closed := candidatesIn(k, 9, one.change)
			k.add(one.change, of("another"))
			k.add()
			find := func(agent bridge.AgentID, since queue.Turn) []queue.Candidate {
				one.like.Agent, one.like.AnsweredSince = agent, since
				return demand.Got(k.SimilarCandidates(k.Context(), one.like))(k)
			}
			k.are(one.name, find(agent, 9), append(open, closed[0])...)
			k.are(one.name+", answered before", find(agent, 10), open...)
			k.are(one.name+", of nobody", find("nobody", 0))
		}
	}},
	{"nothing is similar to nothing", func(k *kit) {
		k.add(func(c *queue.Candidate) { c.Targets = nil })
		k.are("similar", demand.Got(k.SimilarCandidates(k.Context(), queue.Similarity{Agent: agent, Text: "another"}))(k))
	}},
	{"equal candidates are other agents' and open, and have the kind and the text", func(k *kit) {
		same := func(c *queue.Candidate) { c.Text = "Is it so?" }
		c := k.add(same)
		open, _ := candidatesIn(k, 9, same, of("b"))
		k.add(same, of("b"), func(c *queue.Candidate) { c.Kind = queue.Confirmation })
		k.add(of("b"))
		k.add(same, of("z"))
		third := k.add(of("c"), func(c *queue.Candidate) { c.Text = "is it SO" })
		k.are("equal", demand.Got(k.EqualCandidates(k.Context(), c, []bridge.AgentID{"c", "b"}))(k), append(open, third)...)
		k.are("equal, of nobody", demand.Got(k.EqualCandidates(k.Context(), c, nil))(k))
	}},
	{"followers were delivered with their leader and still are", func(k *kit) {
		leader := k.add(deliveredOn(0))
		behind := func(c *queue.Candidate) { c.Leader = leader.ID }
		f1, f2 := k.add(of("b"), deliveredOn(3), behind), k.add(of("c"), deliveredOn(5), behind)
		k.add(of("d"), deliveredOn(0), cooledOn(9), behind)
		k.add(of("e"), deliveredOn(0))
		k.are("followers", demand.Got(k.Followers(k.Context(), leader.ID))(k), f1, f2)
		k.are("followers of none", demand.Got(k.Followers(k.Context(), f1.ID))(k))
	}},
	{"candidates about keys are open, and each is given once", func(k *kit) {
		about := func(c *queue.Candidate) { c.Targets = []queue.Target{{Key: "a"}, {Key: "b"}} }
		open, _ := candidatesIn(k, 9, about)
		k.add(about, of("another"))
		many := make([]string, 0, 1200)
		for range 600 {
			many = append(many, "x", "y")
		}
		many[0], many[1199] = "a", "b"
		k.are("about", demand.Got(k.CandidatesAbout(k.Context(), agent, many))(k), open...)
		k.are("about nothing", demand.Got(k.CandidatesAbout(k.Context(), agent, []string{"z"}))(k))
	}},
	{"ignored is what was delivered a cooldown ago, unless its leader is not", func(k *kit) {
		late, early, fresh := k.add(deliveredOn(2)), k.add(deliveredOn(1)), k.add(deliveredOn(3))
		k.add(of("b"), deliveredOn(0))
		k.add(deliveredOn(0), cooledOn(1))
		follower := k.add(deliveredOn(0), func(c *queue.Candidate) { c.Leader = fresh.ID })
		find := func(turn queue.Turn, limit int) []queue.Candidate {
			return demand.Got(k.IgnoredCandidates(k.Context(), agent, turn, limit))(k)
		}
		k.are("ignored", find(12, 9), early, late)
		k.are("ignored, one", find(12, 1), early)
		k.are("ignored, before", find(10, 9))
		k.move(fresh, answeredOn(3))
		k.are("ignored, once the leader is answered", find(12, 9), follower, early, late)
	}},
}
