package schema

import (
	"fmt"
	"time"
)

// Timestamp is an instant as its sender wrote it. Two of them are compared by [Timestamp.Time], never as text.
type Timestamp string

// Time reads the instant. Seconds may be left out, and fractions finer than a nanosecond are cut, so a moment is never
// read as later than it is. It fails on text that only looks like a time, such as 2026-13-45T99:99Z.
func (t Timestamp) Time() (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, string(t)); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("not a time that exists")
}
