package app

import (
	"fmt"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/egress"
)

// outward makes a client for addresses that others give us, as the operator lets it call them.
func outward(cfg config.Config, t egress.Timeouts) (*egress.Client, error) {
	roots, err := cfg.Egress.Roots()
	if err != nil {
		return nil, fmt.Errorf("egress.ca_file: %w", err)
	}
	client, err := egress.New(egress.Config{Allow: cfg.Egress.Allow, Roots: roots, Timeouts: t})
	if err != nil {
		return nil, fmt.Errorf("egress.allow: %w", err)
	}
	return client, nil
}
