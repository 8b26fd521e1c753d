package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// pageOf gives the ids of one page of a list, and where the next one begins.
func (m *manor) pageOf(path, secret string) (ids []string, next string) {
	m.Helper()
	a := m.do("GET", path, secret, "")
	page, err := schema.Decode[schema.Questions](a.body)
	if err != nil || a.status != http.StatusOK {
		m.Fatalf("%s: %d %v %s", path, a.status, err, a.body)
	}
	for _, q := range page.Questions {
		ids = append(ids, q.ID)
	}
	if page.NextCursor != nil {
		next = *page.NextCursor
	}
	return ids, next
}

func (m *manor) place(id string) bridge.Place {
	m.Helper()
	q, err := m.store.Question(m.Context(), bridge.QuestionID(id))
	if err != nil {
		m.Fatal(err)
	}
	return q.Place()
}

// TestPagesWhileQuestionsArrive goes through every list page by page, with a question asked between each two. Together
// the pages are the list as it stood at the beginning, newest first (section 7, "List" and "Pending").
func TestPagesWhileQuestionsArrive(t *testing.T) {
	onBoth(t, func(m *manor) {
		for i := range 23 {
			m.asked(fmt.Sprintf(`{"prompt":"Go?","correlation_id":"c%d"}`, i%2))
		}
		for path, least := range map[string]int{
			"/api/agent/questions?": 23, "/api/agent/questions?state=pending&": 23, "/api/questions/pending?": 23,
			"/api/agent/questions?correlation_id=c1&": 11, "/api/agent/questions?correlation_id=c0&state=pending&": 12,
		} {
			secret := m.secret
			if path == "/api/questions/pending?" {
				secret = m.dana
			}
			want, _ := m.pageOf(path+"limit=200", secret)
			if len(want) < least || !slices.IsSortedFunc(want, func(a, b string) int { return m.place(a).Compare(m.place(b)) }) {
				m.Errorf("%s gives %d questions, or not the newest first", path, len(want))
			}
			seen, next := m.pageOf(path+"limit=4", secret)
			for next != "" {
				m.asked(`{"prompt":"Later?","correlation_id":"c1"}`)
				var ids []string
				ids, next = m.pageOf(path+"limit=4&cursor="+url.QueryEscape(next), secret)
				seen = append(seen, ids...)
			}
			if !slices.Equal(seen, want) {
				m.Errorf("%s gives, page by page, %q\nnot %q", path, seen, want)
			}
		}
	})
}

// TestCursorsThatNobodyGaveOut are refused, in every list.
func TestCursorsThatNobodyGaveOut(t *testing.T) {
	m := newManor(t)
	for path, secret := range map[string]string{"/api/agent/questions": m.secret, "/api/questions/pending": m.dana} {
		for _, cursor := range []string{"x", "!", "MTIz", "IDEyMw", "eCB5", "%20", "9999999999999999999999", "%C3%A9"} {
			m.problem(m.do("GET", path+"?cursor="+cursor, secret, ""), http.StatusBadRequest, "invalid_cursor")
		}
		m.problem(m.do("GET", path+"?cursor=%00", secret, ""), http.StatusBadRequest, "invalid_parameter")
	}
}
