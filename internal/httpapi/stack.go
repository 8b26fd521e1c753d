package httpapi

// apart calls f in a goroutine of its own and waits for it. A goroutine keeps the stack that its deepest call needed for
// as long as it sleeps, and a query needs four times what a wait needs.
func apart[T any](f func() (T, error)) (value T, err error) {
	type result struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			r.panicked = recover()
			done <- r
		}()
		r.value, r.err = f()
	}()
	r := <-done
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.value, r.err
}
