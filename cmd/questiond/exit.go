package main

import "superpipeline.dev/question-bridge/internal/command"

// The exit codes of every command.
const (
	exitOK     = command.OK
	exitFailed = command.Failed
	exitUsage  = command.Usage
)

// failf ends the program with exitFailed and a word of why. Any other error of a command is a usage error.
func failf(format string, args ...any) error { return command.Exitf(exitFailed, format, args...) }
