package matrix

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// changes is a state event of the room, which came after everything so far.
func (r *rig) changes(sender, eventType, key, content string) string {
	r.clock.Move(time.Second)
	return strings.Replace(r.says(sender, eventType, content), `"content"`, fmt.Sprintf(`"state_key":%q,"content"`, key), 1)
}

// holds makes the homeserver hold this state, whatever it pushed.
func (r *rig) holds(eventType, key string, content map[string]any) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	server := r.server.rooms[room]
	for _, e := range server.state {
		if e["type"] == eventType && e["state_key"] == key {
			e["content"] = content
			return
		}
	}
	server.state = append(server.state, r.server.stateEvent(eventType, key, "@root:ex.org", content))
}

// directory answers for aliases, from a table that may change; a room that is none is a status instead.
func (r *rig) directory(aliases map[string]string) {
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		alias, ok := strings.CutPrefix(req.URL.Path, "/_matrix/client/v3/directory/room/")
		if !ok {
			return false
		}
		switch found := aliases[alias]; {
		case strings.HasPrefix(found, "!"):
			_, _ = fmt.Fprintf(w, `{"room_id":%q}`, found)
		case found != "":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"errcode":"M_NOT_FOUND"}`))
		}
		return true
	})
}

func (r *rig) admin(q bridge.Question, who bridge.UserID) bool {
	r.t.Helper()
	got, err := r.Rights(r.t.Context(), q, who, false)
	noError(r.t, err)
	return got.WorkspaceAdmin
}

func TestWhoIsWorkspaceAdmin(t *testing.T) {
	q := plain()
	q.Conversation = room
	board := q
	board.Content = []byte(`{"board_id":"brd_1"}`)
	blank := q
	blank.Content = []byte(`{"board_id":""}`)
	list := []bridge.UserID{"@dana:ex.org"}
	rooms := func(names ...string) Admins {
		a := Admins{Rooms: map[string][]bridge.UserID{}}
		for _, n := range names {
			a.Rooms[n] = list
		}
		return a
	}
	for name, c := range map[string]struct {
		admins Admins
		q      bridge.Question
		want   bool
	}{
		"nobody is listed":                      {Admins{}, q, false},
		"an empty list of the room":             {Admins{Rooms: map[string][]bridge.UserID{room: {}}}, q, false},
		"somebody else":                         {Admins{Users: []bridge.UserID{"@Dana:ex.org", "@sam:ex.org"}}, q, false},
		"everywhere":                            {Admins{Users: list}, q, true},
		"by the room's id":                      {rooms(room), q, true},
		"by another room's id":                  {rooms("!other:ex.org"), q, false},
		"by a code of its id":                   {rooms("OPS"), q, true},
		"by a code of its alias":                {rooms("ALIAS"), q, true},
		"by a code of another room":             {rooms("OTHER"), q, false},
		"by its alias":                          {rooms("#ops:ex.org"), q, true},
		"by the alias of another room":          {rooms("#other:ex.org"), q, false},
		"by an alias that stands for nothing":   {rooms("#gone:ex.org"), q, false},
		"by an alias that only the room claims": {rooms("#claimed:ex.org"), q, false},
		"by the board":                          {Admins{Boards: map[string][]bridge.UserID{"brd_1": list}}, board, true},
		"by another board":                      {Admins{Boards: map[string][]bridge.UserID{"brd_2": list}}, board, false},
		"by the board of no question":           {Admins{Boards: map[string][]bridge.UserID{"brd_1": list}}, q, false},
		"by no board":                           {Admins{Boards: map[string][]bridge.UserID{"": list}}, blank, false},
		"by a room that is called as the board": {Admins{Rooms: map[string][]bridge.UserID{"brd_1": list}}, board, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(cfg *Config) {
				cfg.Admins = c.admins
				cfg.Rooms = map[string]string{"OPS": room, "ALIAS": "#ops:ex.org", "OTHER": "!other:ex.org"}
			})
			r.holds("m.room.canonical_alias", "", map[string]any{"alias": "#claimed:ex.org", "alt_aliases": []string{"#other:ex.org"}})
			r.directory(map[string]string{"#ops:ex.org": room, "#other:ex.org": "!other:ex.org", "#claimed:ex.org": "!other:ex.org"})
			if got := r.admin(c.q, "@dana:ex.org"); got != c.want {
				t.Errorf("an admin: %v", got)
			}
		})
	}
}

// An alias stands for whatever the homeserver says at that moment. While it says nothing, nobody's rights that hang on it
// are known: the answer waits, and everybody else's does not.
func TestAdminsByAMovingAlias(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admins.Rooms = map[string][]bridge.UserID{"#ops:ex.org": {"@dana:ex.org"}} })
	q := plain()
	q.Conversation = room
	aliases := map[string]string{"#ops:ex.org": room}
	r.directory(aliases)
	if !r.admin(q, "@dana:ex.org") {
		t.Error("not an admin under the alias")
	}
	aliases["#ops:ex.org"] = "!other:ex.org"
	if r.admin(q, "@dana:ex.org") {
		t.Error("still an admin, though the alias was moved")
	}
	aliases["#ops:ex.org"] = "away"
	if got, err := r.Rights(t.Context(), q, "@dana:ex.org", false); err == nil || !got.Unreadable || got.WorkspaceAdmin {
		t.Errorf("while the homeserver is away: %+v, %v", got, err)
	}
	if got, err := r.Rights(t.Context(), q, "@sam:ex.org", false); err != nil || got.Unreadable || !got.Member {
		t.Errorf("somebody else meanwhile: %+v, %v", got, err)
	}
}

// gated is a question whose third option only a workspace admin may choose, with no subject.
func gated() bridge.Question {
	q := q1()
	q.Items[0].Options[2] = bridge.Option{ID: "always", Label: "Always", Meaning: bridge.Choose, Requires: bridge.RequiresWorkspaceAdmin}
	return q
}

func react(m, key string) string {
	return fmt.Sprintf(`{"m.relates_to":{"rel_type":"m.annotation","event_id":%q,"key":%q}}`, m, key)
}

const rootsPower, nobodysPower = `{"users":{"@root:ex.org":100}}`, `{"users":{}}`

// A14: rights and membership are read when the answer is processed, in the order in which things came.
func TestA14(t *testing.T) {
	level := int64(100)
	byPower := func(c *Config) { c.Admins.PowerLevel = &level }

	t.Run("a: a departed admin keeps the number", func(t *testing.T) {
		r := newRig(t, byPower)
		q, m := r.ask(gated())
		r.put("1", r.changes("@root:ex.org", "m.room.power_levels", "", `{"users":{"@root:ex.org":100,"@sam:ex.org":100}}`))
		r.holds("m.room.power_levels", "", map[string]any{"users": map[string]any{"@root:ex.org": 100, "@sam:ex.org": 100}})
		r.work()
		if !r.admin(q, "@sam:ex.org") {
			t.Fatal("not an admin while there")
		}
		late := r.says("@sam:ex.org", "m.reaction", react(m, "3️⃣"))
		r.put("2", r.changes("@sam:ex.org", "m.room.member", "@sam:ex.org", `{"membership":"leave"}`))
		r.holds("m.room.member", "@sam:ex.org", map[string]any{"membership": "leave"})
		r.put("3", late)
		r.work()
		r.expect(q.ID, "pending")
		if r.admin(q, "@sam:ex.org") {
			t.Error("still an admin, though gone")
		}
		always := bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"always"}}}}
		if _, err := r.engine.Answer(t.Context(), "@sam:ex.org", q.ID, always); bridge.CodeOf(err) != bridge.CodeNotEligible {
			t.Errorf("over HTTP: %v", err)
		}
		r.expect(q.ID, "pending")
	})
	for _, c := range []struct {
		name, want string
		first      bool // whether the power goes before the reaction
	}{
		{"b: the power goes, then the reaction", "pending", true},
		{"c: the reaction, then the power goes", "answered always by @root:ex.org", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, byPower)
			q, m := r.ask(gated())
			if !r.admin(q, "@root:ex.org") {
				t.Fatal("not an admin before")
			}
			demoted, reaction := r.changes("@root:ex.org", "m.room.power_levels", "", nobodysPower), r.says("@root:ex.org", "m.reaction", react(m, "3️⃣"))
			if c.first {
				r.put("1", demoted, reaction)
			} else {
				r.put("1", reaction, demoted)
			}
			r.work()
			r.expect(q.ID, c.want)
			if r.admin(q, "@root:ex.org") {
				t.Error("still an admin afterwards")
			}
		})
	}
	t.Run("d: the target is banned", func(t *testing.T) {
		r := newRig(t, byPower)
		direct := plain()
		direct.Scope, direct.Target = bridge.Direct, "@dana:ex.org"
		q, m := r.ask(direct)
		r.holds("m.room.member", "@dana:ex.org", map[string]any{"membership": "ban"})
		r.put("1", r.changes("@root:ex.org", "m.room.member", "@dana:ex.org", `{"membership":"ban"}`), r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
		r.work()
		r.expect(q.ID, "pending")
		if _, err := r.engine.Answer(t.Context(), "@dana:ex.org", q.ID, bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"skip"}}}}); bridge.CodeOf(err) != bridge.CodeNotEligible {
			t.Errorf("over HTTP: %v", err)
		}
	})
	t.Run("levels that roll back are asked for again", func(t *testing.T) {
		r := newRig(t, byPower)
		q, m := r.ask(gated())
		r.put("1", r.changes("@root:ex.org", "m.room.power_levels", "", nobodysPower))
		r.work()
		if r.admin(q, "@root:ex.org") {
			t.Fatal("still an admin")
		}
		// An older event comes late: which one holds, only the homeserver knows.
		r.holds("m.room.power_levels", "", map[string]any{"users": map[string]any{}})
		old := strings.Replace(r.changes("@root:ex.org", "m.room.power_levels", "", rootsPower), fmt.Sprint(r.clock.Now().UnixMilli()), fmt.Sprint(testStart.UnixMilli()), 1)
		r.put("2", old, r.says("@root:ex.org", "m.reaction", react(m, "3️⃣")))
		r.work()
		r.expect(q.ID, "pending")
	})
	t.Run("over HTTP no copy is trusted", func(t *testing.T) {
		r := newRig(t, byPower)
		q, _ := r.ask(gated())
		if !r.admin(q, "@root:ex.org") {
			t.Fatal("not an admin before")
		}
		r.holds("m.room.power_levels", "", map[string]any{"users": map[string]any{}}) // and nothing was pushed
		always := bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"always"}}}}
		if _, err := r.engine.Answer(t.Context(), "@root:ex.org", q.ID, always); bridge.CodeOf(err) != bridge.CodeAdminsOnly {
			t.Errorf("over HTTP: %v", err)
		}
		r.expect(q.ID, "pending")
	})
}

// A12: in a room of version 12, its creators may choose what a level is needed for, though no power levels name them. In
// one of version 11 that property means nothing; a level that is text grants nothing; and what cannot be read refuses.
func TestA12WhoAnswers(t *testing.T) {
	level := int64(100)
	levels := map[string]any{"users": map[string]any{"@mod:ex.org": 50, "@sam:ex.org": "100"}, "users_default": 0}
	create := func(version string) map[string]any {
		return map[string]any{"room_version": version, "additional_creators": []string{"@dana:ex.org"}}
	}
	for name, c := range map[string]struct {
		create map[string]any
		levels map[string]any // nil for none
		who    string
		want   string
	}{
		"the creator in 12":              {create("12"), levels, "@root:ex.org", "answered always by @root:ex.org"},
		"an additional creator in 12":    {create("12"), levels, "@dana:ex.org", "answered always by @dana:ex.org"},
		"a level as text in 12":          {create("12"), levels, "@sam:ex.org", "pending"},
		"the creator in 11":              {create("11"), levels, "@root:ex.org", "pending"},
		"an additional creator in 11":    {create("11"), levels, "@dana:ex.org", "pending"},
		"a level as text in 11":          {create("11"), levels, "@sam:ex.org", "pending"},
		"the creator without any levels": {create("12"), nil, "@root:ex.org", "pending"},
		"additional, without any levels": {create("12"), nil, "@dana:ex.org", "pending"},
		"users that are no object":       {create("11"), map[string]any{"users": 7, "users_default": 100}, "@dana:ex.org", "pending"},
		"a default as text":              {create("11"), map[string]any{"users_default": "100"}, "@dana:ex.org", "pending"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(cfg *Config) { cfg.Admins.PowerLevel = &level })
			r.holds("m.room.create", "", c.create)
			r.holds("m.room.power_levels", "", c.levels)
			if c.levels == nil {
				server := r.server.rooms[room]
				server.state = append(server.state[:1:1], server.state[2:]...)
			}
			q, m := r.ask(gated())
			r.put("1", r.says(c.who, "m.reaction", react(m, "3️⃣")))
			r.work()
			r.expect(q.ID, c.want)
		})
	}
	t.Run("while nothing can be read", func(t *testing.T) {
		r := newRig(t, func(cfg *Config) { cfg.Admins.PowerLevel = &level })
		q, m := r.ask(gated())
		noError(t, r.db.SetDoubtful(t.Context(), room))
		r.server.intercept(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(502); return true })
		r.put("1", r.says("@root:ex.org", "m.reaction", react(m, "3️⃣")))
		r.work()
		r.expect(q.ID, "pending")
		always := bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"always"}}}}
		if _, err := r.engine.Answer(t.Context(), "@root:ex.org", q.ID, always); err == nil {
			t.Error("answered over HTTP, though nobody's rights are known")
		}
		r.expect(q.ID, "pending")
		r.server.intercept(nil) // it was no refusal: the reaction counts once it can be judged
		r.clock.Move(time.Minute)
		r.work()
		r.expect(q.ID, "answered always by @root:ex.org")
	})
}

// Bots, relays, carriers and ourselves never answer, on any surface, whatever rights the lists give them; nobody says a
// word to them.
func TestMachinesNeverAnswer(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Bots = []bridge.UserID{"@sam:ex.org"}
		c.Carriers = []Carrier{{User: "@dana:ex.org", Agent: "pod"}}
		c.Admins.Users = []bridge.UserID{"@sam:ex.org", "@dana:ex.org", bot}
	})
	q, m := r.ask(gated())
	before := len(r.bodies())
	structured := fmt.Sprintf(`{"msgtype":"m.text","body":"x","suite_event_type":%q,"elicitation_id":%q,"option_id":"skip","m.relates_to":{"rel_type":"m.reference","event_id":%q}}`,
		answerType, q.ID, m)
	for i, who := range []string{"@sam:ex.org", "@dana:ex.org", bot} {
		r.put(fmt.Sprint(i), r.says(who, "m.room.message", threadReply(m, "2")), r.says(who, "m.reaction", react(m, "3️⃣")), r.says(who, "m.room.message", structured))
		r.work()
		if got, err := r.Rights(t.Context(), q, bridge.UserID(who), true); err != nil || got.WorkspaceAdmin {
			t.Errorf("%s may %+v, %v", who, got, err)
		}
		if _, err := r.engine.Answer(t.Context(), bridge.UserID(who), q.ID, bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"skip"}}}}); bridge.CodeOf(err) != bridge.CodeNotEligible {
			t.Errorf("%s over HTTP: %v", who, err)
		}
	}
	r.pump()
	r.expect(q.ID, "pending")
	if said := r.bodies(); len(said) != before {
		t.Errorf("said %q", said[before:])
	}
}

// Joined gives the rooms that a person is in now.
func TestJoined(t *testing.T) {
	r := newRig(t, nil)
	q, _ := r.ask(plain())
	if rooms, err := r.Joined(t.Context(), "@dana:ex.org"); err != nil || len(rooms) != 1 || rooms[0] != q.Conversation {
		t.Errorf("dana is in %v, %v", rooms, err)
	}
	if rooms, err := r.Joined(t.Context(), "@eve:ex.org"); err != nil || len(rooms) != 0 {
		t.Errorf("eve is in %v, %v", rooms, err)
	}
	r.holds("m.room.member", "@dana:ex.org", map[string]any{"membership": "leave"})
	r.put("1", r.changes("@dana:ex.org", "m.room.member", "@dana:ex.org", `{"membership":"leave"}`))
	r.work()
	if rooms, err := r.Joined(t.Context(), "@dana:ex.org"); err != nil || len(rooms) != 0 {
		t.Errorf("dana, who left, is in %v, %v", rooms, err)
	}
}
