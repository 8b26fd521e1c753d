// Package app wires the bridge together and runs it.
package app

import (
	"context"
	"errors"
	"net"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/internal/config"
)

// Options is what one run of the bridge needs.
type Options struct {
	Config       config.Config
	Registration config.Registration
	Log          zerolog.Logger
	// Ready is called once, when both listeners are served and the homeserver knows the bot. It may be nil.
	Ready func(Addresses)
	// Listeners that are open already, in place of those that the configuration names. Run closes them.
	Listeners Listeners
}

// Listeners are where the bridge is called. One that is nil is opened as the configuration says.
type Listeners struct {
	API, Appservice net.Listener
}

// Addresses are the base URLs that the bridge is reached at, as it listens.
type Addresses struct {
	API, Appservice string
}

// Run serves until ctx ends, and returns nil then; an error means that it could not start or go on.
func Run(ctx context.Context, opts Options) error {
	return errNotWired
}

var errNotWired = errors.New("not wired yet")
