package testserver

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

// Account says whom to register.
type Account struct {
	Name        string // the localpart: "alice"
	Password    string // a random one if empty
	DisplayName string // the localpart if empty
	Admin       bool   // may use the homeserver's admin API
}

// User is somebody logged in with one device. Its methods may be called from several goroutines.
type User struct {
	Server      *Server
	ID          string // like @alice:question.test
	Password    string // empty when we do not know it
	AccessToken string
	DeviceID    string
}

// Register makes an account with the shared secret of this run, and logs it in. A name that exists is an *APIError with
// code M_USER_IN_USE.
func (s *Server) Register(ctx context.Context, account Account) (*User, error) {
	if account.Password == "" {
		account.Password = rand.Text()
	}
	const path = "/_synapse/admin/v1/register"
	var challenge struct{ Nonce string }
	if err := s.Do(ctx, Request{Path: path}, &challenge); err != nil {
		return nil, fmt.Errorf("register %s: %w", account.Name, err)
	}
	role := "notadmin"
	if account.Admin {
		role = "admin"
	}
	mac := hmac.New(sha1.New, []byte(s.secret))
	mac.Write([]byte(strings.Join([]string{challenge.Nonce, account.Name, account.Password, role}, "\x00")))
	body := map[string]any{
		"nonce":       challenge.Nonce,
		"username":    account.Name,
		"displayname": account.DisplayName,
		"password":    account.Password,
		"admin":       account.Admin,
		"mac":         hex.EncodeToString(mac.Sum(nil)),
	}
	user, err := s.session(ctx, Request{Method: http.MethodPost, Path: path, Body: body})
	if err != nil {
		return nil, fmt.Errorf("register %s: %w", account.Name, err)
	}
	user.Password = account.Password
	return user, nil
}

// Login logs in by password, with a new device. name is a localpart or a whole user id.
func (s *Server) Login(ctx context.Context, name, password string) (*User, error) {
	user, err := s.session(ctx, Request{Method: http.MethodPost, Path: "/_matrix/client/v3/login", Body: map[string]any{
		"type":       "m.login.password",
		"identifier": map[string]any{"type": "m.id.user", "user": name},
		"password":   password,
	}})
	if err != nil {
		return nil, fmt.Errorf("log in %s: %w", name, err)
	}
	user.Password = password
	return user, nil
}

func (s *Server) session(ctx context.Context, req Request) (*User, error) {
	var got struct {
		UserID      string `json:"user_id"`
		AccessToken string `json:"access_token"`
		DeviceID    string `json:"device_id"`
	}
	if err := s.Do(ctx, req, &got); err != nil {
		return nil, err
	}
	return &User{Server: s, ID: got.UserID, AccessToken: got.AccessToken, DeviceID: got.DeviceID}, nil
}

// WithToken returns the user an access token belongs to; an appservice's token belongs to its bot.
func (s *Server) WithToken(ctx context.Context, token string) (*User, error) {
	user := &User{Server: s, AccessToken: token}
	var got struct {
		UserID   string `json:"user_id"`
		DeviceID string `json:"device_id"`
	}
	if err := user.Do(ctx, Request{Path: "/_matrix/client/v3/account/whoami"}, &got); err != nil {
		return nil, fmt.Errorf("look up the owner of a token: %w", err)
	}
	user.ID, user.DeviceID = got.UserID, got.DeviceID
	return user, nil
}

// ResetPassword gives another account a new password through the homeserver's admin API; its devices stay logged in.
// Only an admin may.
func (u *User) ResetPassword(ctx context.Context, userID, password string) error {
	err := u.Do(ctx, Request{
		Method: http.MethodPost,
		Path:   Path("_dendrite", "admin", "resetPassword", userID),
		Body:   map[string]any{"password": password, "logout_devices": false},
	}, nil)
	if err != nil {
		return fmt.Errorf("reset password of %s: %w", userID, err)
	}
	return nil
}

// SetDisplayName sets the name that rooms show for this user.
func (u *User) SetDisplayName(ctx context.Context, name string) error {
	err := u.Do(ctx, Request{
		Method: http.MethodPut,
		Path:   Path("_matrix", "client", "v3", "profile", u.ID, "displayname"),
		Body:   map[string]any{"displayname": name},
	}, nil)
	if err != nil {
		return fmt.Errorf("set display name of %s: %w", u.ID, err)
	}
	return nil
}

// OpenIDToken proves to a third party who its bearer is.
type OpenIDToken struct {
	AccessToken      string `json:"access_token"`
	TokenType        string `json:"token_type"`
	MatrixServerName string `json:"matrix_server_name"`
	// ExpiresIn is what the homeserver sent: Dendrite puts the moment of expiry here, in seconds since 1970, where the
	// specification has a duration.
	ExpiresIn int64 `json:"expires_in"`
}

// OpenID requests an OpenID token.
func (u *User) OpenID(ctx context.Context) (OpenIDToken, error) {
	var token OpenIDToken
	err := u.Do(ctx, Request{
		Method: http.MethodPost,
		Path:   Path("_matrix", "client", "v3", "user", u.ID, "openid", "request_token"),
		Body:   struct{}{},
	}, &token)
	if err != nil {
		return OpenIDToken{}, fmt.Errorf("request OpenID token: %w", err)
	}
	return token, nil
}
