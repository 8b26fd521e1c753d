package schema

import (
	"errors"
	"regexp"
	"time"
)

// Timestamp is an instant as its sender wrote it. Two of them are compared by [Timestamp.Time], never as text.
type Timestamp string

// Time reads the instant. Seconds may be left out, and fractions finer than a nanosecond are cut, so a moment is never
// read as later than it is. It fails on text that only looks like a time, such as 2026-13-45T99:99Z.
func (t Timestamp) Time() (time.Time, error) {
	if !timestampShape.MatchString(string(t)) {
		return time.Time{}, errNoTime
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, string(t)); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errNoTime
}

var errNoTime = errors.New("not a time that exists")

// timestampShape keeps out what time.Parse lets through: hours of one digit, a decimal comma, offsets of 24 hours and
// more or of 60 minutes and more.
var timestampShape = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
