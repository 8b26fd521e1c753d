package main

import "superpipeline.dev/question-bridge/internal/command"

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

func exitf(code int, format string, args ...any) error { return command.Exitf(code, format, args...) }

// exitWith ends the program with a code when all is said.
func exitWith(code int) error { return &command.Exit{Code: code} }
