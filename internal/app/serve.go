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
	patience         = 10 * time.Second // for requests in hand, when shutting down
)

// listen opens the listeners that were not given.
func (o Options) listen(ctx context.Context) (Listeners, error) {
	l := o.Listeners
	for _, want := range []struct {
		at      *net.Listener
		setting string
		address string
	}{{&l.API, "api.listen", o.Config.API.Listen}, {&l.Appservice, "appservice.listen", o.Config.Appservice.Listen}} {
		if *want.at != nil {
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
	for _, listener := range []net.Listener{l.API, l.Appservice} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

func (l Listeners) addresses() Addresses {
	return Addresses{API: "http://" + l.API.Addr().String(), Appservice: "http://" + l.Appservice.Addr().String()}
}

// serve answers on both listeners until ctx ends. Waits are released first, so that nobody's long poll holds the end up.
func (b *parts) serve(ctx context.Context, group *errgroup.Group, l Listeners) {
	handler := httpapi.New(b.api)
	if b.around != nil {
		handler = b.around(handler)
	}
	api := httpapi.HTTPServer(handler)
	appservice := &http.Server{
		Handler: b.channel.Handler(), ReadHeaderTimeout: appserviceHeader, ReadTimeout: appserviceBody, WriteTimeout: appserviceReply,
	}
	for server, listener := range map[*http.Server]net.Listener{api: l.API, appservice: l.Appservice} {
		server.BaseContext = func(net.Listener) context.Context { return zerolog.Ctx(ctx).WithContext(context.Background()) }
		group.Go(func() error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", listener.Addr(), err)
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			b.hub.Close()
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
			if err := server.Shutdown(end); err != nil {
				zerolog.Ctx(ctx).Warn().Err(err).Str("address", listener.Addr().String()).Msg("Requests were cut off")
				_ = server.Close()
			}
			return nil
		})
	}
}
