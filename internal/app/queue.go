package app

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/queue/callback"
	"superpipeline.dev/question-bridge/internal/queue/command"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/sweep"
)

var (
	_ queue.Store    = (*sqlstore.Store)(nil)
	_ callback.Store = (*sqlstore.Store)(nil)
)

// EnvQueueDisable is the environment variable that switches the Question Queue off.
const EnvQueueDisable = "QUESTION_QUEUE_DISABLE"

// queueDisabled reads the variable, on every call: 1, true, yes or on, in any case.
func queueDisabled() bool {
	return slices.Contains([]string{"1", "true", "t", "yes", "y", "on"}, strings.ToLower(strings.TrimSpace(os.Getenv(EnvQueueDisable))))
}

// callbackTimeouts are short, as a host's turn waits for its own callback.
var callbackTimeouts = egress.Timeouts{Dial: 2 * time.Second, TLS: 2 * time.Second, Header: 4 * time.Second, Whole: 5 * time.Second}

// newQueue makes the Question Queue and what asks hosts for stale candidates. It asks in no room until it is given who does.
func newQueue(cfg config.Config, store *sqlstore.Store, clock bridge.Clock, announcer bridge.Announcer) (*queue.Queue, *callback.Checker, error) {
	client, err := outward(cfg, callbackTimeouts)
	if err != nil {
		return nil, nil, err
	}
	hosts := &callback.Checker{Store: store, Caller: client}
	return queue.New(queue.Parts{
		Store: store, Clock: clock, Disabled: queueDisabled, Staleness: hosts, Groups: queueGroups(cfg), PersonBudget: personBudget(cfg),
		Reporter: evidence{announcer, store, clock},
	}), hosts, nil
}

// evidence announces answered candidates to webhooks.
type evidence struct {
	bridge.Announcer
	questions interface {
		Question(ctx context.Context, id bridge.QuestionID) (bridge.Question, error)
	}
	clock bridge.Clock
}

// Answered implements [queue.Reporter]. A question that is forgotten is none, and the room with it.
func (e evidence) Answered(ctx context.Context, c queue.Candidate, known []queue.Evidence) error {
	a := bridge.Announcement{Event: "candidate.answered", Key: string(c.ID), At: e.clock.Now(), Body: dialect.ToCandidateAnswered(c, known)}
	if c.Question != "" {
		q, err := e.questions.Question(ctx, c.Question)
		if err != nil && bridge.CodeOf(err) != bridge.CodeNotFound {
			return err
		}
		a.Question, a.Conversation = q.ID, q.Conversation
	}
	return e.Announce(ctx, a)
}

// queueCommand answers !queue.
func queueCommand(cfg config.Config, store *sqlstore.Store) bridge.Commander {
	return command.Commander{Store: store, Names: agentNames(cfg), Disabled: queueDisabled}
}

func queueGroups(cfg config.Config) (groups [][]bridge.AgentID) {
	for _, group := range cfg.Queue.Groups {
		var agents []bridge.AgentID
		for _, agent := range group {
			agents = append(agents, bridge.AgentID(agent))
		}
		groups = append(groups, agents)
	}
	return groups
}

// personBudget is the zero one, which is no limit, for no asks.
func personBudget(cfg config.Config) queue.PersonBudget {
	if cfg.Queue.PersonBudget.Asks == 0 {
		return queue.PersonBudget{}
	}
	return queue.PersonBudget{Asks: int(cfg.Queue.PersonBudget.Asks), Per: cfg.Queue.PersonBudget.Per}
}

// queueChores are what the sweep does for the queue: everything else in it goes by the turns of hosts.
func queueChores(cfg config.Config, store *sqlstore.Store) []sweep.Chore {
	return []sweep.Chore{{Name: "forget when the queue asked people", Every: time.Hour, Do: func(ctx context.Context, now time.Time) error {
		return store.PurgePersonAsks(ctx, now.Add(-personBudget(cfg).Per))
	}}}
}

// Queue is the Question Queue's switch in the configured database, as the queue command uses it, also while the bridge
// runs.
type Queue struct{ store *sqlstore.Store }

// OpenQueue opens that of the configured database.
func OpenQueue(ctx context.Context, cfg config.Config) (*Queue, error) {
	store, err := openBeside(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Queue{store}, nil
}

// Close closes the database.
func (q *Queue) Close() error { return q.store.Close() }

// Off says whether the queue is switched off.
func (q *Queue) Off(ctx context.Context) (bool, error) { return q.store.QueueOff(ctx) }

// SetOff switches it off or on; the next call of a bridge that runs minds it.
func (q *Queue) SetOff(ctx context.Context, off bool) error { return q.store.SetQueueOff(ctx, off) }
