package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"superpipeline.dev/question-bridge/internal/command"
)

// terminalWidth is the width of the terminal that an output is, in columns; 0 when it is none, or one that cannot erase
// a line. Tests put another function here.
var terminalWidth = func(w io.Writer) int {
	f, ok := command.Underlying(w).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// isTerminal says whether an input or output is a terminal. Tests put another function here.
var isTerminal = func(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
