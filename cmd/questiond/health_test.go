package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// Health says what does not work, or that nothing answers, or that what answers is something else.
func TestHealth(t *testing.T) {
	address := freeAddress(t)
	config := folder(t, leastConfig+"\napi: {listen: \""+address+"\"}\nappservice: {listen: \""+freeAddress(t)+"\"}\nlogging: {writers: [{type: file, filename: bridge.log}]}\n")
	call(t, "registration", "-c", config).want(t, exitOK, "Wrote ", "")
	call(t, "health", "-c", config).want(t, exitFailed, "", "questiond: the bridge does not answer at "+address+": dial tcp "+address+": connect: connection refused\n")

	ctx, end := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "-c", config}, strings.NewReader(""), os.Stderr, os.Stderr)
	}()
	for got := (result{}); !strings.Contains(got.err, "does not work: homeserver\n"); got = call(t, "health", "-c", config) {
		select {
		case code := <-ended:
			t.Fatalf("it ended with %d; health said %q", code, got.err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	end()
	<-ended

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	at := strings.TrimPrefix(other.URL, "http://")
	call(t, "health", "-c", folder(t, leastConfig+"\napi: {listen: \""+at+"\"}\n")).want(t, exitFailed, "", "what answers at "+at+" answers 404, and is no bridge\n")
}
