package schema

// TextBody renders the plain fallback body that belongs to the event.
func (e *Elicitation) TextBody() string { return "" }

// HTMLBody renders the formatted_body that belongs to the event: the same text as HTML.
func (e *Elicitation) HTMLBody() string { return "" }
