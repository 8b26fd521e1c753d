package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"

	"superpipeline.dev/question-bridge/bridge"
)

// Report is what a check of the homeserver found.
type Report struct {
	Versions []string      // the specification versions it speaks
	Bot      bridge.UserID // who it takes us for
	Ping     string        // "ok", "unsupported", or what went wrong when it called us back
}

// Connect makes sure that the homeserver knows us: it answers, our token is the bot's, and the bot has an account and
// its name.
// Where the homeserver can be asked to call us back, it is; a failure of that is reported and is no error, because we
// may not be listening yet.
func (s *Service) Connect(ctx context.Context) (Report, error) {
	var r Report
	versions, err := s.versions(ctx)
	if err != nil {
		return r, fmt.Errorf("reach the homeserver: %w", err)
	}
	s.hs.cli.SpecVersions = versions
	for _, v := range versions.Versions {
		r.Versions = append(r.Versions, v.String())
	}
	if err := s.register(ctx); err != nil {
		return r, err
	}
	var who mautrix.RespWhoami
	if err := s.hs.call(ctx, http.MethodGet, mautrix.ClientURLPath{"v3", "account", "whoami"}, nil, nil, &who); err != nil {
		return r, fmt.Errorf("ask the homeserver who we are: %w", err)
	}
	if r.Bot = bridge.UserID(who.UserID); r.Bot != s.hs.bot {
		return r, fmt.Errorf("%w: for %s, not for the bot %s", errIdentity, r.Bot, s.hs.bot)
	}
	s.introduce(ctx)
	if s.cipher != nil {
		if err := s.cipher.begin(ctx); err != nil {
			return r, fmt.Errorf("begin encryption: %w", err)
		}
		s.arrived()
	}
	r.Ping = s.ping(ctx, versions)
	zerolog.Ctx(ctx).Info().Str("bot", string(r.Bot)).Str("ping", r.Ping).Msg("Homeserver reached")
	return r, nil
}

func (s *Service) versions(ctx context.Context) (*mautrix.RespVersions, error) {
	var v mautrix.RespVersions
	err := s.hs.call(ctx, http.MethodGet, mautrix.ClientURLPath{"versions"}, nil, nil, &v)
	return &v, err
}

// register makes the bot's account. One that exists is what we want. (Field case A24.)
func (s *Service) register(ctx context.Context) error {
	body := map[string]any{"type": mautrix.AuthTypeAppservice, "username": s.reg.SenderLocalpart, "inhibit_login": true}
	err := s.hs.call(ctx, http.MethodPost, mautrix.ClientURLPath{"v3", "register"}, nil, body, nil)
	if err == nil || errors.Is(err, mautrix.MUserInUse) {
		return nil
	}
	return fmt.Errorf("register the bot: %w", err)
}

// introduce gives the bot the name that rooms show, once. It goes before every join, because a join carries the name
// of its moment into the room.
func (s *Service) introduce(ctx context.Context) {
	s.introducing.Lock()
	defer s.introducing.Unlock()
	if s.introduced || s.cfg.DisplayName == "" {
		return
	}
	if err := s.setName(ctx, s.cfg.DisplayName); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("Could not set the bot's display name")
		return
	}
	s.introduced = true
}

// setName leaves a name that is right alone: every change is an event in each of the bot's rooms.
func (s *Service) setName(ctx context.Context, name string) error {
	path := mautrix.ClientURLPath{"v3", "profile", string(s.hs.bot), "displayname"}
	var now mautrix.RespUserDisplayName
	err := s.hs.call(ctx, http.MethodGet, path, nil, nil, &now)
	if err != nil && !errors.Is(err, mautrix.MNotFound) || now.DisplayName == name {
		return err
	}
	return s.hs.call(ctx, http.MethodPut, path, nil, map[string]any{"displayname": name}, nil)
}

func (s *Service) ping(ctx context.Context, versions *mautrix.RespVersions) string {
	if !versions.Supports(mautrix.FeatureAppservicePing) {
		return "unsupported"
	}
	body := map[string]any{"transaction_id": "ping"}
	err := s.hs.call(ctx, http.MethodPost, mautrix.ClientURLPath{"v1", "appservice", s.reg.ID, "ping"}, nil, body, nil)
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, mautrix.MUnrecognized), errors.Is(err, mautrix.MNotFound):
		return "unsupported"
	}
	return err.Error()
}

// Reach asks the homeserver for a sign of life.
func (s *Service) Reach(ctx context.Context) error {
	_, err := s.versions(ctx)
	return err
}

// errIdentity is a homeserver that takes us for somebody else.
var errIdentity = errors.New("the homeserver takes us for somebody else")

// Hopeless says whether an error of [Service.Connect] will not go away by itself: the homeserver does not know our
// token, or knows it as somebody else's.
func Hopeless(err error) bool {
	return errors.Is(err, errIdentity) || errors.Is(err, mautrix.MUnknownToken) || errors.Is(err, mautrix.MForbidden) ||
		errors.Is(err, mautrix.MExclusive) || errors.Is(err, errPickle) || errors.Is(err, errOtherKeys)
}
