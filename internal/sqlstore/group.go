package sqlstore

import (
	"context"
	"errors"
)

// groupSize is how many writes share one transaction at most.
const groupSize = 64

// errUnfinished is what becomes of a write that panics or ends its goroutine.
var errUnfinished = errors.New("the write did not come to its end")

// companion is a write that waits on SQLite while another one is being committed, and then is done in the transaction of
// whoever comes first: a commit waits for the disk, however much it commits. Each write is done alone and in its own
// goroutine, one after the other; one that fails is taken back without the others. Nobody returns before the commit.
type companion struct {
	turn      chan context.Context // gets the transaction; closed when there is none to be had
	done      chan error           // how the write went
	committed chan error           // how the transaction went
}

func newCompanion() *companion {
	return &companion{turn: make(chan context.Context), done: make(chan error), committed: make(chan error, 1)}
}

// follow does a write when its turn comes. Where the transaction fails, so does the write, whatever came of it itself:
// what it read is not so.
func (c *companion) follow(ctx context.Context, f func(ctx context.Context) error) error {
	txn, ok := <-c.turn
	if !ok {
		return <-c.committed
	}
	err := errUnfinished
	func() {
		defer func() { c.done <- err }() // also when f panics
		err = uninterrupted(ctx, within{context.WithoutCancel(ctx), txn}, f)
	}()
	if failed := <-c.committed; failed != nil {
		return failed
	}
	return err
}

// group is one transaction with everybody who travels in it.
type group struct {
	s          *Store
	companions []*companion
}

// gather does the writes that wait now, in order of arrival. An error means that the transaction cannot go on.
func (g *group) gather(ctx context.Context) error {
	for len(g.companions) < groupSize-1 {
		select {
		case c := <-g.s.door.company:
			g.companions = append(g.companions, c)
			if err := g.take(ctx, c); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (g *group) take(ctx context.Context, c *companion) error {
	if _, err := g.s.exec(ctx, "SAVEPOINT companion"); err != nil {
		close(c.turn)
		return err
	}
	c.turn <- ctx
	if failed := <-c.done; failed != nil {
		if _, err := g.s.exec(ctx, "ROLLBACK TO companion"); err != nil {
			return errors.Join(err, failed)
		}
	}
	_, err := g.s.exec(ctx, "RELEASE companion")
	return err
}

// end tells everybody how the transaction ended.
func (g *group) end(err error) {
	for _, c := range g.companions {
		c.committed <- err
	}
}

// uninterrupted does a write in a transaction that others travel in: it is done whole, and taken back if its own context
// has ended meanwhile.
func uninterrupted(ctx, txn context.Context, f func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := f(txn); err != nil {
		return err
	}
	return ctx.Err()
}

// within is a context with the transaction of another one.
type within struct {
	context.Context
	txn context.Context
}

func (w within) Value(key any) any {
	if value := w.Context.Value(key); value != nil {
		return value
	}
	return w.txn.Value(key)
}
