package client

import (
	"context"
	"errors"
	"net/http"
)

// Handler serves a webhook endpoint: it reconciles each request and has the event taken. It answers 204 when take has no
// error, and 500 when it has one, so that the server sends the event again later; requests that give no event are
// answered with [WebhookError.Status], and anything but POST with 405.
//
// Take is called by several requests at once, and again for an event that comes again: see [Webhook]. The server gives up
// an attempt after 15 seconds, so take keeps the event, and what there is to do is done afterwards.
func (w *Webhook) Handler(take func(context.Context, *Event) error) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			out.Header().Set("Allow", http.MethodPost)
			out.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		event, err := w.Reconcile(r)
		var refused *WebhookError
		switch {
		case errors.As(err, &refused):
			out.WriteHeader(refused.Status())
		case err != nil || take(r.Context(), event) != nil:
			out.WriteHeader(http.StatusInternalServerError)
		default:
			out.WriteHeader(http.StatusNoContent)
		}
	})
}
