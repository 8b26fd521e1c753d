package apitest

import (
	"bytes"
	"maps"
	"net/http"
)

// Around is the API, with every response held against the description before it is sent. report is told of each that
// differs.
func Around(api http.Handler, report func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &held{ResponseWriter: w, header: http.Header{}}
		api.ServeHTTP(held, r)
		if r.Context().Err() != nil && held.status == 0 {
			return // the client is gone, and was told nothing
		}
		held.WriteHeader(http.StatusOK)
		e := exchange{r.Method, r.URL, held.status, held.header, held.body.Bytes()}
		if err := described().check(e); err != nil {
			report(err)
		}
		maps.Copy(w.Header(), held.header)
		w.WriteHeader(held.status)
		_, _ = w.Write(held.body.Bytes()) // the client is gone, if this fails
	})
}

// held is a response that is not sent yet.
type held struct {
	http.ResponseWriter
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *held) Header() http.Header { return h.header }

func (h *held) WriteHeader(status int) {
	if h.status == 0 && status >= 200 {
		h.status = status
	}
}

func (h *held) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(b)
}

// Unwrap is for http.ResponseController.
func (h *held) Unwrap() http.ResponseWriter { return h.ResponseWriter }
