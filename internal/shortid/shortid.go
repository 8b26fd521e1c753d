// Package shortid makes ids that people type: a letter that says what of, and five characters that nobody takes for
// others. Each is drawn at random and stored with what it names, so it stays the same whatever else there is.
package shortid

import (
	"crypto/rand"
	"strings"
)

// letters leaves out what is taken for something else: 0 and o, 1, i and l.
const letters = "23456789abcdefghjkmnpqrstuvwxyz"

// length is how many of them follow the first letter: there are 28 million such ids.
const length = 5

// New makes one, which may be taken already.
func New(first byte) string {
	id := make([]byte, 1, 1+length)
	id[0] = first
	var random [1]byte
	for len(id) < cap(id) {
		_, _ = rand.Read(random[:])
		if n := int(random[0]); n < 256/len(letters)*len(letters) { // so that each is as likely
			id = append(id, letters[n%len(letters)])
		}
	}
	return string(id)
}

// Parse reads one as somebody typed it; ok is false for what can be none with this first letter.
func Parse(first byte, typed string) (id string, ok bool) {
	id = strings.ToLower(typed)
	if len(id) != 1+length || id[0] != first {
		return "", false
	}
	return id, strings.Trim(id[1:], letters) == ""
}
