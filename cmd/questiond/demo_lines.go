package main

import (
	"fmt"
	"strings"
	"unicode"

	"superpipeline.dev/question-bridge/internal/testserver"
)

// said is one typed line, understood.
type said struct {
	who  string
	kind sayKind
	text string
}

type sayKind int

const (
	sayNothing sayKind = iota
	sayReply
	sayReaction
	sayPlain
	sayHelp
	sayQuit
)

// parseLine understands a typed line. Without a name it is last's.
func parseLine(line, last string) said {
	s := said{who: last, text: strings.TrimSpace(line)}
	if name, rest, ok := strings.Cut(s.text, ":"); ok {
		if name = strings.ToLower(strings.TrimSpace(name)); name == "alice" || name == "bob" {
			s.who, s.text = name, strings.TrimSpace(rest)
		}
	}
	command, rest, _ := strings.Cut(s.text, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case s.text == "":
	case command == "/quit" || command == "/exit":
		s.kind = sayQuit
	case command == "/react" && rest != "":
		s.kind, s.text = sayReaction, keycap(rest)
	case command == "/plain" && rest != "":
		s.kind, s.text = sayPlain, rest
	case strings.HasPrefix(command, "/"):
		s.kind = sayHelp
	default:
		s.kind = sayReply
	}
	return s
}

// keycap makes the emoji of a digit, as clients send it.
func keycap(s string) string {
	if len(s) == 1 && s[0] >= '0' && s[0] <= '9' {
		return s + "\ufe0f\u20e3"
	}
	return s
}

// seen remembers an event and gives the lines that show it, or "" for what nobody needs to see.
func (s *stage) seen(e testserver.Event) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.name(e.Sender)
	relation := e.Relation()
	switch e.Type {
	case "m.room.message":
		if isQuestion(e) {
			s.question = e.ID
		}
		return s.message(name, e, relation)
	case "m.reaction":
		if e.Sender == s.bot { // the offered keycaps
			return ""
		}
		return fmt.Sprintf("%s reacted %s to: %s", name, printable(relation.Key), s.shown[relation.EventID])
	case "m.room.redaction":
		return ""
	case "m.room.member":
		if e.StateKey != nil {
			return fmt.Sprintf("* %s: %s", s.name(*e.StateKey), printable(e.Membership()))
		}
	}
	return ""
}

func (s *stage) message(name string, e testserver.Event, relation testserver.Relation) string {
	text, mark := e.Body(), ""
	switch {
	case relation.Type == "m.replace":
		if e.Sender == s.bot { // the outcome is told in the thread too
			return ""
		}
		text, mark = e.NewBody(), " (edited)"
	case strings.HasSuffix(relation.Type, ".thread"):
		mark = " (in the thread)"
	case relation.InReplyTo.EventID != "":
		mark = " (in reply)"
	}
	text = printable(text)
	first, _, _ := strings.Cut(text, "\n")
	s.shown[e.ID] = first
	return fmt.Sprintf("%s%s: %s", name, mark, strings.ReplaceAll(text, "\n", "\n    "))
}

func (s *stage) name(userID string) string {
	if name, ok := s.names[userID]; ok {
		return name
	}
	return printable(userID)
}

// printable makes text from the room harmless on a terminal: control characters other than line breaks are dropped.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return -1
		}
		return r
	}, text)
}
