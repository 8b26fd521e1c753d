package measure

import (
	"fmt"
	"math"
	"os"
	"testing"
	"time"
)

// TableEnv names the file that the rows of the table are added to; without it they are only logged.
const TableEnv = "QUESTION_BENCH_TABLE"

// Row is a line of the table that `make bench` ends with.
type Row struct {
	What        string
	Ours, Limit string // with their units
	Ratio       string
	Goal        string // "" for none
	Met         bool
}

// Head is what stands above the rows.
const Head = "| what | ours | limit | ratio (quartiles) | goal |\n| --- | --- | --- | --- | --- |\n"

// String is the row in Markdown.
func (r Row) String() string {
	goal := r.Goal
	switch {
	case goal == "":
		goal = "–"
	case !r.Met:
		goal += ", **missed**"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", r.What, r.Ours, r.Limit, r.Ratio, goal)
}

// Report adds the row to the table.
func (r Row) Report(b *testing.B) {
	b.Helper()
	b.Log(r.String())
	path := os.Getenv(TableEnv)
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if at, err := file.Seek(0, 2); err == nil && at == 0 {
		_, _ = file.WriteString(Head)
	}
	if _, err := file.WriteString(r.String()); err != nil {
		b.Fatal(err)
	}
}

// Goal is what a ratio should be: at least or at most so much.
type Goal struct{ AtLeast, AtMost float64 }

func (g Goal) row(ratio float64) (text string, met bool) {
	switch {
	case g.AtLeast > 0:
		return fmt.Sprintf("at least %.2f", g.AtLeast), ratio >= g.AtLeast
	case g.AtMost > 0:
		return fmt.Sprintf("at most %.2f", g.AtMost), ratio <= g.AtMost
	}
	return "", true
}

// Report adds a comparison to the table; format writes one of its figures.
func (r Result) Report(b *testing.B, what string, goal Goal, format func(float64) string) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // a pair of slices is no operation
	b.ReportMetric(r.Ratio, "ratio")
	row := Row{
		What: what, Ours: format(r.Ours), Limit: format(r.Limit), Ratio: fmt.Sprintf("%.2f (%.2f–%.2f)", r.Ratio, r.Low, r.High),
	}
	row.Goal, row.Met = goal.row(r.Ratio)
	row.Report(b)
}

// PerSecond formats a rate of something.
func PerSecond(what string) func(float64) string {
	return func(rate float64) string {
		digits := math.Pow(10, max(math.Floor(math.Log10(rate))-2, 0)) // three digits say enough
		return fmt.Sprintf("%.0f %s/s", math.Round(rate/digits)*digits, what)
	}
}

// Millis formats seconds as milliseconds.
func Millis(seconds float64) string {
	if seconds < 0.01 {
		return fmt.Sprintf("%.2f ms", seconds*1000)
	}
	return fmt.Sprintf("%.0f ms", seconds*1000)
}

// Micros formats seconds as microseconds.
func Micros(seconds float64) string { return fmt.Sprintf("%.1f µs", seconds*1e6) }

// KiB formats bytes.
func KiB(bytes float64) string { return fmt.Sprintf("%.1f KiB", bytes/1024) }

// Duration formats a duration as milliseconds.
func Duration(d time.Duration) string { return Millis(d.Seconds()) }
