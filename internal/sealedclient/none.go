//go:build !goolm

package sealedclient

import (
	"context"
	"errors"
	"time"

	"superpipeline.dev/question-bridge/internal/testserver"
)

// Client is nobody in a program without encryption.
type Client struct{ *testserver.User }

// New says that there is no encryption.
func New(context.Context, *testserver.User, string) (*Client, error) {
	return nil, errors.New("this program was built without encryption: it needs the build tag goolm")
}

// Close does nothing.
func (*Client) Close() error { return nil }

// Open gives the event as it is.
func (*Client) Open(_ context.Context, _ string, e testserver.Event, _ time.Duration) testserver.Event {
	return e
}
