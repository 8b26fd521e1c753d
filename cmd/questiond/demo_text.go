package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"superpipeline.dev/question-bridge/internal/testserver"
)

// demoLine is what --json prints.
type demoLine struct {
	Homeserver string         `json:"homeserver"`
	API        string         `json:"api"`
	Appservice string         `json:"appservice"`
	Bot        string         `json:"bot"`
	Room       demoLineRoom   `json:"room"`
	Agent      demoLineAgent  `json:"agent"`
	Users      []demoLineUser `json:"users"`
	DataDir    string         `json:"data_dir"`
}

type demoLineRoom struct {
	ID   string `json:"id"`
	Code string `json:"code"`
	// Encrypted is absent when it is not.
	Encrypted bool `json:"encrypted,omitempty"`
}

type demoLineAgent struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

type demoLineUser struct {
	UserID      string `json:"user_id"`
	Password    string `json:"password"`
	AccessToken string `json:"access_token"`
	Admin       bool   `json:"admin"`
}

func (d *demo) writeJSON(w io.Writer) error {
	line := demoLine{
		Homeserver: d.homeserver.URL, API: d.at.API, Appservice: d.at.Appservice, Bot: d.config.BotID(),
		Room:    demoLineRoom{ID: d.room, Code: demoCode, Encrypted: d.dir.state.Encrypted},
		Agent:   demoLineAgent{ID: demoAgent, Token: d.token},
		DataDir: d.dir.path,
	}
	for _, user := range []*testserver.User{d.alice, d.bob} {
		line.Users = append(line.Users, demoLineUser{user.ID, user.Password, user.AccessToken, user == d.alice})
	}
	return json.NewEncoder(w).Encode(line)
}

func (d *demo) writeText(w io.Writer) {
	kept := "kept for the next demo"
	if d.dir.temporary {
		kept = "removed at the end; keep it with --data DIR"
	}
	room := demoCode
	if d.dir.state.Encrypted {
		room += ", encrypted"
	}
	fmt.Fprintf(w, `The demo runs, on this machine alone.

  homeserver  %s
  bridge      %s  (agent %s, room %s)
  data        %s  (%s)

Log in from a Matrix client, as a user with a password on another homeserver:

  homeserver  %s
  alice       password %s  (workspace admin)
  bob         password %s

Ask from another terminal:

  export QUESTION_SERVER=%s
  export QUESTION_TOKEN=%s
  %s ask %s "Deploy to production?" --yes-no --wait

`, d.homeserver.URL, d.at.API, demoAgent, room, d.dir.path, kept,
		d.homeserver.URL, d.alice.Password, d.bob.Password,
		d.at.API, d.token, questionProgram(), demoCode)
}

// questionProgram is how to call the asker's program: the one beside ours if it is there.
func questionProgram() string {
	const name = "question"
	self, err := os.Executable()
	if err != nil {
		return name
	}
	beside := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(beside); err != nil {
		return name
	}
	return beside
}
