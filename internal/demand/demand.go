// Package demand is what the conformance suites of the stores demand things by.
package demand

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
)

// Test is a test that ends with the first thing that is not as demanded.
type Test struct{ *testing.T }

// OK demands that there is no error.
func (t Test) OK(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Is compares whole values.
func (t Test) Is(what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %s\nwant %s", what, Shown(got), Shown(want))
	}
}

// Shown writes a value for people, as JSON where that is possible.
func Shown(value any) string {
	b, err := json.Marshal(value)
	if err != nil || value == nil {
		return fmt.Sprintf("%#v", value)
	}
	return string(b)
}

// Got turns a value and an error into the value, or ends the test.
func Got[V any](value V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// Parallel runs f in n goroutines at once and waits for them.
func Parallel(n int, f func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			f(i)
		})
	}
	close(begin)
	all.Wait()
}
