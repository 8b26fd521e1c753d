package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"superpipeline.dev/question-bridge/internal/httpapi"
)

// The homeserver's side: its transactions may be large, and it sends one at a time.
const (
	appserviceHeader = 10 * time.Second
	appserviceBody   = time.Minute
	appserviceReply  = time.Minute
	appserviceIdle   = 10 * time.Minute
	maxHeader        = 32 << 10
)

// What is in hand when the bridge is asked to end may go on so long.
const (
	patience = 10 * time.Second       // requests
	linger   = 200 * time.Millisecond // requests that are just coming in: net/http drops what it has not read yet
	grace    = 5 * time.Second        // effects; one that is cut off is done again after the next start
)

// listen opens the listeners that were not given.
func (o Options) listen(ctx context.Context) (Listeners, error) {
	l := o.Listeners
	for _, want := range []struct {
		at      *net.Listener
		setting string
		address string
	}{
		{&l.API, "api.listen", o.Config.API.Listen}, {&l.Appservice, "appservice.listen", o.Config.Appservice.Listen},
		{&l.Metrics, "metrics.listen", o.Config.Metrics.Listen},
	} {
		if *want.at != nil || want.address == "" {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", want.address)
		if err != nil {
			l.close()
			return Listeners{}, fmt.Errorf("%s: %w", want.setting, err)
		}
		*want.at = listener
	}
	return l, nil
}

func (l Listeners) close() {
	for _, listener := range []net.Listener{l.API, l.Appservice, l.Metrics} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

func (l Listeners) addresses() Addresses {
	at := Addresses{API: "http://" + l.API.Addr().String(), Appservice: "http://" + l.Appservice.Addr().String()}
	if l.Metrics != nil {
		at.Metrics = "http://" + l.Metrics.Addr().String() + "/metrics"
	}
	return at
}

// appserviceServer makes a server that nobody can hold open for long with nothing.
func appserviceServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: appserviceHeader, ReadTimeout: appserviceBody, WriteTimeout: appserviceReply,
		IdleTimeout: appserviceIdle, MaxHeaderBytes: maxHeader,
	}
}

// serve answers on the listeners until ctx ends. Waits are released first, so that nobody's long poll holds the end up.
func (b *parts) serve(ctx context.Context, group *errgroup.Group, l Listeners) {
	handler := httpapi.New(b.api)
	if b.around != nil {
		handler = b.around(handler)
	}
	api := httpapi.HTTPServer(handler)
	appservice := appserviceServer(b.metrics.Requests("appservice", b.channel.Handler()))
	listeners := map[*http.Server]net.Listener{api: l.API, appservice: l.Appservice}
	if l.Metrics != nil {
		listeners[httpapi.HTTPServer(b.metrics.Handler())] = l.Metrics
	}
	for server, listener := range listeners {
		server.BaseContext = func(net.Listener) context.Context { return zerolog.Ctx(ctx).WithContext(context.Background()) }
		group.Go(func() error {
			err := server.Serve(listener)
			if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) && ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("serve %s: %w", listener.Addr(), err)
		})
		group.Go(func() error {
			<-ctx.Done()
			b.hub.Close()
			end(zerolog.Ctx(ctx).WithContext(context.Background()), server, listener)
			return nil
		})
	}
}

// end lets nobody in any more, and lets requests under way come to their end.
func end(ctx context.Context, server *http.Server, listener net.Listener) {
	_ = listener.Close()
	time.Sleep(linger)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Str("address", listener.Addr().String()).Msg("Requests were cut off")
		_ = server.Close()
	}
}
