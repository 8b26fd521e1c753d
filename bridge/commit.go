package bridge

import "context"

// Deferred is what is to be done once a transaction is committed.
type Deferred struct{ then []func() }

// Around gives f, as a store runs it in a transaction, with what it puts off by [AfterCommit] gathered here. What an
// earlier run of it put off is forgotten.
func (d *Deferred) Around(f func(ctx context.Context) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		d.then = nil
		return f(context.WithValue(ctx, deferredKey{}, d))
	}
}

// Run does what was put off. The store calls it after the commit.
func (d *Deferred) Run() {
	for _, f := range d.then {
		f()
	}
}

type deferredKey struct{}

// AfterCommit does f once the transaction of ctx is committed, if it is, and at once where ctx has none. It is how those
// who act in the transaction of somebody else tell of what they did. f must not use a store by that ctx, whose transaction
// is over by then.
func AfterCommit(ctx context.Context, f func()) {
	if d, ok := ctx.Value(deferredKey{}).(*Deferred); ok {
		d.then = append(d.then, f)
		return
	}
	f()
}
