package apitest

import (
	"bytes"
	"io"
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

// Transport holds what a client of the API is answered against the description.
type Transport struct {
	Report func(error)
}

// RoundTrip implements [http.RoundTripper].
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err := described().check(exchange{r.Method, r.URL, response.StatusCode, response.Header, body}); err != nil {
		t.Report(err)
	}
	return response, nil
}
