package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"syscall"

	"superpipeline.dev/question-bridge/internal/app"
)

// Free ports are taken from below the range that systems give to outgoing connections, so that the next demo on the
// same folder finds them free.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// listen opens the bridge's two ports before anything is told of them: nobody can take them any more.
func (d *demo) listen(ctx context.Context) (l app.Listeners, err error) {
	last := &d.dir.state.Ports
	if l.Appservice, err = listenOn(ctx, "appservice", d.flags.ports.Appservice, last.Appservice); err != nil {
		return l, err
	}
	if l.API, err = listenOn(ctx, "api", d.flags.ports.API, last.API); err != nil {
		_ = l.Appservice.Close()
		return l, err
	}
	last.Appservice, last.API = listenerPort(l.Appservice), listenerPort(l.API)
	return l, nil
}

// listenOn opens the port that was asked for and no other; else the last one if it is free, else any free one.
func listenOn(ctx context.Context, name string, asked, last int) (net.Listener, error) {
	if asked != 0 {
		l, err := loopback(ctx, asked)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, portTaken(name, asked)
		}
		return l, err
	}
	port := last
	for range 100 {
		if port != 0 {
			if l, err := loopback(ctx, port); err == nil {
				return l, nil
			}
		}
		port = lowestPort + rand.IntN(highestPort-lowestPort)
	}
	return nil, fmt.Errorf("no free port between %d and %d", lowestPort, highestPort)
}

func loopback(ctx context.Context, port int) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

func portTaken(name string, port int) error {
	return fmt.Errorf("port %d is taken: choose another with --port-%s, or none for a free one", port, name)
}

func listenerPort(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func portOf(address string) int {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port())
	return port
}
