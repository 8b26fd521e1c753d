package testserver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports we choose from lie below the range that systems give to outgoing connections, so that a homeserver which
// restarts finds its port still free.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// freePort returns a loopback port that nobody listens on at this moment.
func freePort(ctx context.Context) (int, error) {
	var last error
	for range 100 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if last = portFree(ctx, port); last == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d: %w", lowestPort, highestPort, last)
}

func portFree(ctx context.Context, port int) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", loopback(port))
	if err != nil {
		return err
	}
	return listener.Close()
}

func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
