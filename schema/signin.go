package schema

// OpenIDToken is what a person signs in with: a Matrix OpenID token as their homeserver gave it out (Client-Server API,
// "OpenID"). Its expires_in is not read, nor anything that is said beside it about who they are.
type OpenIDToken struct {
	AccessToken      string `json:"access_token"`         // visible ASCII, at most 1024
	TokenType        string `json:"token_type,omitempty"` // Bearer, or "" for that
	MatrixServerName string `json:"matrix_server_name"`   // the homeserver to ask whose it is
}

// Session is what signing in gives: a bearer token for the responder's routes.
type Session struct {
	AccessToken string    `json:"access_token"`
	TokenType   string    `json:"token_type"` // always Bearer
	ExpiresIn   int       `json:"expires_in"` // seconds
	ExpiresAt   Timestamp `json:"expires_at"`
	UserID      string    `json:"user_id"`     // who signed in, as their homeserver says
	MayApprove  bool      `json:"may_approve"` // a subject; and choose what has requires
}

var (
	openIDSchema  = compiled(fileProtocol, "#/$defs/openid_token")
	sessionSchema = compiled(fileProtocol, "#/$defs/session")
)

func (*OpenIDToken) definition() definition {
	return definition{"question-protocol-1.1/openid-token", openIDSchema}
}
func (*Session) definition() definition {
	return definition{"question-protocol-1.1/session", sessionSchema}
}

func (*OpenIDToken) check() []Fault { return nil }
func (*Session) check() []Fault     { return nil }
