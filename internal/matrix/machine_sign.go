//go:build goolm

package matrix

import "context"

func (c *machine) crossSign(ctx context.Context) {}
