package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/config"
)

const anyRoom = "*"

// checkGrant refuses what could never work: a room that no client could mean, a scope that opens nothing.
func checkGrant(cfg config.Config, g app.Grant) error {
	if g.User != "" {
		return checkPerson(cfg, g)
	}
	if !config.IsAgentID(g.Agent) {
		return errors.New("AGENT must be 1 to 64 letters, digits or ._-")
	}
	if len(g.Rooms) == 0 {
		return errors.New("--rooms is needed: codes, room ids or aliases, or '*' for every room")
	}
	for _, room := range g.Rooms {
		if room != anyRoom && !cfg.IsRoomName(room) {
			return fmt.Errorf("--rooms: %q is neither a code of the configuration nor a room id nor an alias", room)
		}
	}
	for _, scope := range g.Scopes {
		if !slices.Contains(app.Scopes(), scope) {
			return fmt.Errorf("--scopes: %q is none of %s", scope, strings.Join(app.Scopes(), ", "))
		}
	}
	return nil
}

func checkPerson(cfg config.Config, g app.Grant) error {
	switch {
	case !config.IsUserID(g.User):
		return errors.New("--user must be a user id like @alice:example.org")
	case cfg.IsMachine(g.User):
		return errors.New("--user: the configuration has it as a bot or a carrier, which never answers")
	case len(g.Rooms) > 0 || len(g.Scopes) > 0:
		return errors.New("--rooms and --scopes are for an AGENT: a person answers in the rooms that they are in")
	}
	return nil
}

const longestLifetime = 100 * 365 * 24 * time.Hour

// parseLifetime reads a duration that may count days: 90d, 12h, 1d12h.
func parseLifetime(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	var days int64
	rest := s
	if before, after, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(before, 10, 16)
		if err != nil {
			return 0, badLifetime(s)
		}
		days, rest = int64(n), after
	}
	lifetime := time.Duration(days) * 24 * time.Hour
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil {
			return 0, badLifetime(s)
		}
		lifetime += d
	}
	if lifetime <= 0 || lifetime > longestLifetime {
		return 0, badLifetime(s)
	}
	return lifetime, nil
}

func badLifetime(s string) error {
	return fmt.Errorf("--expires: %q is not a time like 12h or 90d, up to a hundred years", s)
}
