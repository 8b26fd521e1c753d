// Package app wires the bridge together and runs it.
package app

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/matrix"
)

// Options is what one run of the bridge needs.
type Options struct {
	Config       config.Config
	Registration config.Registration
	Version      string // of this program
	Log          zerolog.Logger
	// Ready is called once, when the listeners are served and the homeserver knows the bot. It may be nil.
	Ready func(Addresses)
	// Listeners that are open already, in place of those that the configuration names. Run closes them.
	Listeners Listeners
	// Waiting makes Run a standby: while another process serves the database, it waits for that one to end, and listens
	// nowhere. It is called once, with who that is. If it is nil, such a database is an error.
	Waiting func(holder string)
}

// Listeners are where the bridge is called. One that is nil is opened as the configuration says.
type Listeners struct {
	API, Appservice net.Listener
	Metrics         net.Listener // nil for none, where the configuration names none either
}

// Addresses are the base URLs that the bridge is reached at, as it listens.
type Addresses struct {
	API, Appservice string
	Metrics         string // "" for none
}

// Run serves until ctx ends, and returns nil then; an error means that it could not start or go on. A homeserver that
// does not answer yet is waited for; one that does not know us is an error.
func Run(ctx context.Context, opts Options) error {
	ctx = opts.Log.WithContext(ctx)
	defer opts.Listeners.close()
	b, err := assemble(ctx, opts)
	if err != nil && ctx.Err() != nil { // asked to end while it waited
		return nil
	}
	if err != nil {
		return err
	}
	defer b.close()
	listeners, err := opts.listen(ctx)
	if err != nil {
		return err
	}
	defer listeners.close()

	err = b.run(ctx, listeners, opts.Ready)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // asked to end before it had begun all
	}
	if matrix.Hopeless(err) {
		return fmt.Errorf("the homeserver does not know the bridge: %w (hint: it needs %s, and a restart; `questiond check` tells more)",
			err, opts.Config.Appservice.Registration)
	}
	return err
}

// run serves and works until ctx ends or something fails for good.
func (b *parts) run(ctx context.Context, l Listeners, ready func(Addresses)) error {
	group, ctx := errgroup.WithContext(ctx)
	b.serve(ctx, group, l)
	group.Go(func() error { return b.store.Serves(ctx) })
	group.Go(func() error { return b.channel.Run(ctx, b.receiver) })
	group.Go(func() error { return b.outbox.Run(ctx) })
	group.Go(func() error { return b.submits.Run(ctx) })
	group.Go(func() error { return b.sweeper.Run(ctx) })
	for _, lane := range b.hooks.lanes {
		group.Go(func() error { return lane.Run(ctx) })
	}
	group.Go(func() error {
		if err := b.connect(ctx); err != nil {
			return err
		}
		if err := b.hooks.places.lookUp(ctx, b.roomOf); err != nil && ctx.Err() == nil {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("Not every alias of the webhooks was found")
		}
		if ready != nil && ctx.Err() == nil {
			ready(l.addresses())
		}
		return nil
	})
	return group.Wait()
}
