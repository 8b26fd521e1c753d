package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/testserver"
)

const demoAlias = "demo"

// signIn logs both people in, and makes their accounts when the homeserver does not have them yet.
func (d *demo) signIn(ctx context.Context) (err error) {
	state := &d.dir.state
	if d.alice, err = d.person(ctx, testserver.Account{Name: "alice", DisplayName: "Alice", Admin: true}, &state.Alice); err != nil {
		return err
	}
	if d.bob, err = d.person(ctx, testserver.Account{Name: "bob", DisplayName: "Bob"}, &state.Bob); err != nil {
		return err
	}
	state.Encrypted = state.Encrypted || d.flags.encrypted
	return d.dir.saveState()
}

func (d *demo) person(ctx context.Context, account testserver.Account, known *demoPerson) (*testserver.User, error) {
	if known.AccessToken != "" {
		if user, err := d.homeserver.WithToken(ctx, known.AccessToken); err == nil {
			user.Password = known.Password
			return user, nil
		}
	}
	account.Password = known.Password
	user, err := d.homeserver.Register(ctx, account)
	if refusedWith(err, "M_USER_IN_USE") {
		user, err = d.homeserver.Login(ctx, account.Name, known.Password)
	}
	if err != nil {
		return nil, err
	}
	known.AccessToken = user.AccessToken
	return user, nil
}

// furnish makes the room if there is none, and sees to it that both people are in and the bot is invited.
func (d *demo) furnish(ctx context.Context) error {
	bot := d.config.BotID()
	room, err := d.alice.CreateRoom(ctx, testserver.Room{
		Name: "Demo", Alias: demoAlias, Topic: "Answer in the thread of a question, or by a reaction.",
		Invite: []string{d.bob.ID, bot},
	})
	if refusedWith(err, "M_ROOM_IN_USE") {
		room, err = d.alice.Join(ctx, "#"+demoAlias+":"+demoDomain)
	}
	if err != nil {
		return err
	}
	d.room = room
	members, err := d.alice.Members(ctx, room)
	if err != nil {
		return err
	}
	for _, guest := range []string{d.bob.ID, bot} {
		if m := members[guest]; m != "join" && m != "invite" {
			if err := d.alice.Invite(ctx, room, guest); err != nil {
				return err
			}
		}
	}
	_, err = d.bob.Join(ctx, room)
	return err
}

// grant takes the agent's token from its file if it still opens the API, else makes one.
func (d *demo) grant(ctx context.Context) error {
	tokens, err := openTokens(ctx, d.config)
	if err != nil {
		return fmt.Errorf("make the agent's token: %w", err)
	}
	defer tokens.Close()
	if data, err := os.ReadFile(d.dir.file(demoTokenFile)); err == nil {
		secret := strings.TrimSpace(string(data))
		if ok, err := tokens.Valid(ctx, secret); err == nil && ok {
			d.token = secret
			return nil
		}
	}
	if d.token, _, err = tokens.Add(ctx, app.Grant{Agent: demoAgent, Rooms: []string{demoCode}}); err != nil {
		return err
	}
	return d.dir.write(demoTokenFile, []byte(d.token+"\n"))
}

// openTokens is app.OpenTokens, unless a test puts something in its place.
var openTokens = app.OpenTokens

func refusedWith(err error, code string) bool {
	var refusal *testserver.APIError
	return errors.As(err, &refusal) && refusal.Code == code
}
