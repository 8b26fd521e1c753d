package testserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// APIError is the homeserver's refusal of a request. Get at it with errors.As.
type APIError struct {
	Status  int    // the HTTP status
	Code    string // the Matrix code, like M_FORBIDDEN; empty when the body had none
	Message string
}

func (e *APIError) Error() string {
	return fmt.Sprintf("homeserver answered %d %s: %s", e.Status, e.Code, e.Message)
}

// Request is one call of the homeserver's HTTP API, for what has no method of its own here.
type Request struct {
	Method string     // GET if empty
	Path   string     // with the leading slash and escaped; Path makes one
	Query  url.Values // may be nil
	Body   any        // sent as JSON; nil for none
}

// Path joins segments to a path, each escaped: Path("_matrix", "client", "v3", "rooms", id).
func Path(segments ...string) string {
	var b strings.Builder
	for _, segment := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(segment))
	}
	return b.String()
}

// Do sends a request without an access token and decodes the answer into into, unless that is nil. An answer other than
// 2xx is an *APIError.
func (s *Server) Do(ctx context.Context, req Request, into any) error {
	return s.do(ctx, s.call(req, ""), into)
}

// Do sends a request as this user and decodes the answer into into, unless that is nil. An answer other than 2xx is an
// *APIError.
func (u *User) Do(ctx context.Context, req Request, into any) error {
	return u.Server.do(ctx, u.Server.call(req, u.AccessToken), into)
}

type call struct {
	method, url, token string
	body               any
}

func (s *Server) call(req Request, token string) call {
	c := call{method: req.Method, url: s.URL + req.Path, token: token, body: req.Body}
	if c.method == "" {
		c.method = http.MethodGet
	}
	if len(req.Query) > 0 {
		c.url += "?" + req.Query.Encode()
	}
	return c
}

func (s *Server) do(ctx context.Context, c call, into any) error {
	var body io.Reader
	if c.body != nil {
		data, err := json.Marshal(c.body)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, c.url, body)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	if c.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err // names the method and the address itself
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: read answer: %w", c.method, req.URL.Path, err)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %w", c.method, req.URL.Path, refusal(resp.StatusCode, data))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s %s: decode answer: %w", c.method, req.URL.Path, err)
	}
	return nil
}

func refusal(status int, data []byte) *APIError {
	var body struct {
		Code    string `json:"errcode"`
		Message string `json:"error"`
	}
	if json.Unmarshal(data, &body) != nil {
		body.Message = string(data[:min(len(data), 200)])
	}
	return &APIError{Status: status, Code: body.Code, Message: body.Message}
}
