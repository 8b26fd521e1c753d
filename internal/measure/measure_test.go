package measure

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestCompare(t *testing.T) {
	var order []string
	ours := []float64{8, 1, 30}
	limits := []float64{10, 10, 10}
	take := func(name string, from *[]float64) func() float64 {
		return func() float64 {
			order = append(order, name)
			first := (*from)[0]
			*from = (*from)[1:]
			return first
		}
	}
	r := Compare(func() bool { return len(ours) > 0 }, take("ours", &ours), take("limit", &limits))
	if want := (Result{Ours: 8, Limit: 10, Ratio: 0.8, Low: 0.1, High: 3, Slices: 3}); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
	if want := strings.Fields("ours limit limit ours ours limit"); !reflect.DeepEqual(order, want) {
		t.Errorf("the slices ran in the order %v", order)
	}
}

func TestQuantile(t *testing.T) {
	values := []time.Duration{5, 1, 4, 2, 3}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := Quantile(values, share); got != want {
			t.Errorf("%v: got %d, want %d", share, got, want)
		}
	}
	if values[0] != 5 {
		t.Error("the values were sorted in place")
	}
}

func TestRow(t *testing.T) {
	text, met := Goal{AtLeast: 0.8}.row(0.79)
	row := Row{What: "asks", Ours: PerSecond("asks")(12345), Limit: Millis(0.0012), Ratio: "0.79", Goal: text, Met: met}
	if want := "| asks | 12300 asks/s | 1.20 ms | 0.79 | at least 0.80, **missed** |\n"; row.String() != want {
		t.Errorf("got %q, want %q", row, want)
	}
	if text, met := (Goal{AtMost: 2}).row(2); text != "at most 2.00" || !met {
		t.Errorf("%q, %t", text, met)
	}
}
