package testserver

import (
	"net/url"
	"testing"
	"time"
)

func TestRegisterAndLogin(t *testing.T) {
	ctx := within(t)
	server := shared(t)
	name := unique("reg_alice")
	alice := must(server.Register(ctx, Account{Name: name, Password: "first password", DisplayName: "Alice"}))(t)
	equal(t, "user id", alice.ID, "@"+name+":"+server.Name)
	equal(t, "password", alice.Password, "first password")
	_, err := server.Register(ctx, Account{Name: name})
	refused(t, err, "M_USER_IN_USE")

	again := must(server.Login(ctx, alice.ID, alice.Password))(t)
	equal(t, "user id", again.ID, alice.ID)
	if again.DeviceID == alice.DeviceID || again.AccessToken == alice.AccessToken {
		t.Fatal("the second login is not a new device")
	}
	_, err = server.Login(ctx, name, "wrong password")
	refused(t, err, "M_FORBIDDEN")
	_, err = server.WithToken(ctx, "no such token")
	refused(t, err, "M_UNKNOWN_TOKEN")

	var profile struct{ DisplayName string }
	path := Path("_matrix", "client", "v3", "profile", alice.ID)
	noError(t, server.Do(ctx, Request{Path: path}, &profile))
	equal(t, "display name", profile.DisplayName, "Alice")
	noError(t, alice.SetDisplayName(ctx, "Alice Liddell"))
	noError(t, server.Do(ctx, Request{Path: path}, &profile))
	equal(t, "display name", profile.DisplayName, "Alice Liddell")
}

func TestResetPassword(t *testing.T) {
	ctx := within(t)
	server := shared(t)
	admin := register(t, server, Account{Name: "reset_admin", Admin: true})
	bob := register(t, server, Account{Name: "reset_bob"})
	refused(t, bob.ResetPassword(ctx, admin.ID, "mine now, thanks"), "M_FORBIDDEN")
	noError(t, admin.ResetPassword(ctx, bob.ID, "another password"))
	must(server.Login(ctx, bob.ID, "another password"))(t)
	_, err := server.Login(ctx, bob.ID, bob.Password)
	refused(t, err, "M_FORBIDDEN")
	must(server.WithToken(ctx, bob.AccessToken))(t)
}

// The token proves who the user is, which takes an endpoint of the federation API.
func TestOpenID(t *testing.T) {
	ctx := within(t)
	server := shared(t)
	alice := register(t, server, Account{Name: "openid_alice"})
	token := must(alice.OpenID(ctx))(t)
	equal(t, "server", token.MatrixServerName, server.Name)
	if lifetime := time.Until(time.Unix(token.ExpiresIn, 0)); lifetime < time.Minute || lifetime > 2*time.Hour {
		t.Fatalf("the token lasts %s", lifetime)
	}
	info := Request{Path: "/_matrix/federation/v1/openid/userinfo", Query: url.Values{"access_token": {token.AccessToken}}}
	var owner struct{ Sub string }
	noError(t, server.Do(ctx, info, &owner))
	equal(t, "owner", owner.Sub, alice.ID)
	info.Query.Set("access_token", "made up")
	refused(t, server.Do(ctx, info, nil), "M_UNKNOWN_TOKEN")
}
