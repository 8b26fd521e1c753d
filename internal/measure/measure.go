// Package measure holds what we built against its limit. Both run in slices that take turns, so that both see the same
// machine, however busy it is; what counts is the median of the slices' ratios. It is for benchmarks alone.
package measure

import (
	"slices"
	"time"
)

// Result is a comparison: the medians of both sides, and the median and the quartiles of ours over the limit's, slice by
// slice.
type Result struct {
	Ours, Limit      float64
	Ratio, Low, High float64
	Slices           int
}

// Compare runs a slice of each side as long as more says so; the side that begins changes. A slice gives its figure, such
// as events a second.
func Compare(more func() bool, ours, limit func() float64) Result {
	var a, z, ratios []float64
	for more() {
		var x, y float64
		if len(ratios)%2 == 0 {
			x, y = ours(), limit()
		} else {
			y, x = limit(), ours()
		}
		a, z, ratios = append(a, x), append(z, y), append(ratios, x/y)
	}
	return Result{
		Ours: Median(a), Limit: Median(z), Ratio: Median(ratios),
		Low: Quantile(ratios, 0.25), High: Quantile(ratios, 0.75), Slices: len(ratios),
	}
}

// AtLeast is true as long as loop is, and so often in a row: for slices so long that the time of a benchmark would hold
// one or two.
func AtLeast(n int, loop func() bool) (more func() bool) {
	left := 0
	return func() bool {
		if left == 0 {
			if !loop() {
				return false
			}
			left = n
		}
		left--
		return true
	}
}

// Rate is how many of n there were in a second.
func Rate(n int, do func()) float64 {
	start := time.Now()
	do()
	return float64(n) / time.Since(start).Seconds()
}

// Median is the middle value; of an even number the upper one of the two.
func Median[T float64 | time.Duration](values []T) T { return Quantile(values, 0.5) }

// Quantile is the value that the given share of values stays below. There must be values.
func Quantile[T float64 | time.Duration](values []T, share float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// Seconds is how long something takes.
func Seconds(do func()) float64 {
	start := time.Now()
	do()
	return time.Since(start).Seconds()
}
