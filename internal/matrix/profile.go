package matrix

import (
	"context"
	"net/http"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
)

// introduce gives the bot the name that people see. It is asked for first: setting it again would tell every room of the
// bot. A bot without its name works, so a failure is only logged.
func (s *Service) introduce(ctx context.Context) {
	if s.cfg.DisplayName == "" {
		return
	}
	type profile struct {
		DisplayName string `json:"displayname"`
	}
	path := mautrix.ClientURLPath{"v3", "profile", string(s.hs.bot), "displayname"}
	var now profile
	// A profile that cannot be read may be one that nobody has set yet.
	if err := s.hs.call(ctx, http.MethodGet, path, nil, nil, &now); err == nil && now.DisplayName == s.cfg.DisplayName {
		return
	}
	if err := s.hs.call(ctx, http.MethodPut, path, nil, profile{s.cfg.DisplayName}, nil); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("The bot's display name could not be set")
	}
}
