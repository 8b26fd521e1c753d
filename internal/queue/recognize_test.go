package queue

import (
	"fmt"
	"strings"
	"testing"
)

func labels(all ...string) []Option {
	var out []Option
	for _, label := range all {
		out = append(out, Option{Label: label})
	}
	return out
}

func describe(r Recognition) string {
	switch r := r.(type) {
	case Chosen:
		return fmt.Sprint(r.Option + 1)
	case Deflected:
		return "deflected"
	case Unrecognized:
		return "unrecognized"
	}
	return "nothing"
}

func checkReplies(t *testing.T, options []Option, want map[string]string) {
	t.Helper()
	for reply, w := range want {
		if got := describe(Recognize(options, reply)); got != w {
			t.Errorf("%q is %s, want %s", reply, got, w)
		}
	}
}

// The phrases of the document's public implementation.
func TestDeflections(t *testing.T) {
	phrases := []string{
		"skip", "pass", "next", "not sure", "unsure", "no idea", "dunno", "i don't know", "don't know", "idk", "rather not say",
		"i'd rather not say", "i'd rather not", "prefer not to say", "no comment", "never mind", "nevermind", "ask me later", "later", "not now",
	}
	options := labels("morning", "afternoon", "skip") // the last of which no proposal can have
	for _, phrase := range phrases {
		for _, reply := range []string{
			phrase, strings.ToUpper(phrase), " " + strings.ReplaceAll(phrase, " ", "\n ") + "!", phrase + "...", strings.ReplaceAll(phrase, "'", ""),
			strings.ReplaceAll(phrase, "'", "’"), "(" + phrase + ")",
		} {
			if got := describe(Recognize(options, reply)); got != "deflected" {
				t.Errorf("%q is %s", reply, got)
			}
		}
		for _, reply := range []string{phrase + " please", "1 " + phrase} {
			if got := describe(Recognize(options, reply)); got == "deflected" {
				t.Errorf("%q is %s", reply, got)
			}
		}
	}
}

func TestRecognize(t *testing.T) {
	checkReplies(t, labels("Morning", "In the afternoon", "3 o'clock"), map[string]string{
		"morning": "1", "MORNING!": "1", "  morning ": "1", "“morning”": "unrecognized", "\"morning\"": "1", "in the\nafternoon.": "2",
		"1": "1", "2.": "2", "3)": "3", "(2)": "2", "#2": "2", "2!": "2", "１": "1", "2️⃣": "2", "1. morning": "1", "1 morning": "1",
		"3 oclock": "3", "3 o’clock": "3",
		"2 morning": "unrecognized", "4": "unrecognized", "0": "unrecognized", "01": "unrecognized", "-1": "unrecognized", "+1": "unrecognized", "1.0": "unrecognized",
		"": "unrecognized", " \n": "unrecognized", "?!": "unrecognized", "the morning": "unrecognized", "morning and afternoon": "unrecognized",
		"yes": "unrecognized", "one": "unrecognized", strings.Repeat("morning ", 9000): "unrecognized",
	})
}

// A reply that names more than one option names none; a number and a label of the same option name it once.
func TestRecognizeAmbiguous(t *testing.T) {
	checkReplies(t, labels("2", "1", "3"), map[string]string{"1": "unrecognized", "2": "unrecognized", "3": "3", "3!": "3", "(1)": "unrecognized"})
	checkReplies(t, labels("C", "C++", "C#"), map[string]string{"C++": "2", "c#": "3", "c": "1", "c!": "unrecognized"})
	checkReplies(t, labels("a", "b", "1 b!"), map[string]string{"1 b": "unrecognized", "1 b!": "3"})
	checkReplies(t, labels("15%", "7 days"), map[string]string{"15": "1", "15 %": "1", "7": "unrecognized"})
	checkReplies(t, labels("yes."), map[string]string{"yes": "1", "YES.": "1"})
	checkReplies(t, nil, map[string]string{"1": "unrecognized", "": "unrecognized", "skip": "deflected"})
}

// Punctuation is not taken out of numbers: 1.5 is not 15.
func TestRecognizeNumbersBeforePunctuation(t *testing.T) {
	var many []string
	for i := range 15 {
		many = append(many, fmt.Sprintf("part %c", 'a'+i))
	}
	checkReplies(t, labels(many...), map[string]string{"1.5": "unrecognized", "1,5": "unrecognized", "1-5": "unrecognized", "1/5": "unrecognized", "15": "15", "15.": "15"})
	checkReplies(t, labels("15", "1.5", "-3", "3", "version 2.0"), map[string]string{
		"15": "1", "1.5": "2", "1.5!": "2", "1,5": "unrecognized", "-3": "3", "(-3)": "3", "+3": "unrecognized", ".15": "unrecognized",
		"version 2.0?": "5", "version 20": "unrecognized", "version-2.0": "unrecognized",
	})
}
