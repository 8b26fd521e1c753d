package main

import (
	"fmt"

	"superpipeline.dev/question-bridge/internal/command"
)

// The exit codes of every command.
const (
	exitOK        = command.OK     // answered, valid, passed
	exitFailed    = command.Failed // an error, refused, failed
	exitUsage     = command.Usage
	exitExpired   = 3 // the question expired
	exitCancelled = 4 // the question was cancelled

	exitNotGenuine = 5 // no certificate of a trusted key
	exitUnexpected = 6 // a genuine certificate, but not of what was expected, or too late

	exitOther = 7 // another answer than the one that was given stands, most likely somebody else's

	exitInterrupted = 130 // SIGINT or SIGTERM, as a shell counts; a question that was waited for stays pending
)

// words are what --json calls the exit codes, where a server has no word of its own for what happened.
var words = map[int]string{
	exitFailed: "failed", exitUsage: "usage", exitExpired: "expired", exitCancelled: "cancelled",
	exitNotGenuine: "not_genuine", exitUnexpected: "unexpected", exitOther: "another_answer", exitInterrupted: "interrupted",
}

func exitf(code int, format string, args ...any) error {
	return &command.Exit{Code: code, Message: fmt.Sprintf(format, args...), Problem: command.Problem{Code: words[code]}}
}

// exitWith ends the program with a code when all is said.
func exitWith(code int) error { return &command.Exit{Code: code} }
