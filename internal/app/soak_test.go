package app

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// The soak is bounded by its rounds; its seed decides what everybody does and where the processes die, though not what
// the machine's scheduling makes of it.
var (
	soakRounds = flag.Int("soak.rounds", 8, "how often a process is killed in each soak test")
	soakSeed   = flag.Uint64("soak.seed", 1, "what the soak tests draw by")
	soakDir    = flag.String("soak.dir", "", "keep the databases and logs of the soak tests in this directory")
)

// soakChapter is how many rounds are played on one homeserver, before everything is looked at.
const soakChapter = 25

// TestSoakBridgeKilled kills the bridge again and again while people answer and programs ask: all guarantees hold.
func TestSoakBridgeKilled(t *testing.T) { soakTest(t, inClear, killBridge) }

// TestSoakHomeserverKilled kills the homeserver instead.
func TestSoakHomeserverKilled(t *testing.T) { soakTest(t, inClear, killServer) }

// TestSoakBothKilled kills either, or both at once.
func TestSoakBothKilled(t *testing.T) { soakTest(t, inClear, killBridge, killServer, killBoth) }

// soak is a homeserver, a bridge on it as a process of its own, people in rooms and programs that ask them. Everything
// between the three travels by wires that the trap sees.
type soak struct {
	t      *testing.T
	ctx    context.Context
	seed   uint64
	server *testserver.Server
	people []*testserver.User
	hub    *testserver.User // a carrier, whose word never is an answer
	cfg    config.Config
	token  string
	trap   trap
	bridge *bridgeProcess
	chance *chance
	how    manner
	voices map[string]voice // by user id

	bridgeURL, apiURL string // of the wires to the bridge
	acked             ackedEvents
	asked             int // how many questions were planned

	// loses is true of a homeserver that is killed. Dendrite may then never push an event that it shows in its room, and
	// show its events in other ways too than they were.
	loses bool
}

func soakTest(t *testing.T, how manner, victims ...victim) {
	t.Parallel()
	t.Logf("-soak.seed=%d -soak.rounds=%d", *soakSeed, *soakRounds)
	asked := 0
	for done := 0; done < *soakRounds && !t.Failed(); {
		rounds := min(soakChapter, *soakRounds-done)
		t.Run(fmt.Sprint("from round ", done+1), func(t *testing.T) {
			s := newSoak(t, *soakSeed+uint64(done), how)
			s.loses = slices.ContainsFunc(victims, func(v victim) bool { return v != killBridge })
			s.chapter(rounds, victims)
			asked += s.asked
		})
		done += rounds
		t.Logf("%d rounds, %d questions", done, asked)
	}
}

// draw gives a source of chance that is always the same for a seed and a stream.
func (s *soak) draw(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, stream)) }

// chance is a source that several goroutines draw from.
type chance struct {
	mu sync.Mutex
	r  *rand.Rand
}

// of is true in so many of a hundred cases.
func (c *chance) of(percent int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(100) < percent
}

func newSoak(t *testing.T, seed uint64, how manner) *soak {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	s := &soak{t: t, ctx: ctx, seed: seed, how: how}
	s.chance = &chance{r: s.draw(2)}
	dir := t.TempDir()
	if *soakDir != "" {
		dir = filepath.Join(*soakDir, t.Name())
		s.ok(os.MkdirAll(dir, 0o700))
	}

	cfg := config.Default()
	cfg.Homeserver.Domain = "question.test"
	cfg.API.Listen, cfg.Appservice.Listen = freeAddress(t), freeAddress(t)
	s.bridgeURL = s.listen(s.toBridge("http://" + cfg.Appservice.Listen))
	s.apiURL = s.listen(s.toAPI("http://" + cfg.API.Listen))
	cfg.Appservice.URL = s.bridgeURL
	registration := filepath.Join(dir, "registration.yaml")
	s.ok(cfg.NewRegistration().Save(registration, true))
	var err error
	s.server, err = testserver.Start(ctx, testserver.Options{DataDir: filepath.Join(dir, "homeserver"), Registrations: []string{registration}})
	s.ok(err)
	t.Cleanup(func() { _ = s.server.Stop() })
	cfg.Homeserver.URL = s.listen(s.toServer)
	for _, name := range []string{"alice", "bob", "carol", "dave"} {
		s.people = append(s.people, s.person(name))
	}
	s.hub = s.person("hub")
	s.voices = how.voices(s, dir)

	cfg.Agents = []config.Agent{{ID: "ci", Name: "CI"}, {ID: "hub", Name: "The hub"}}
	cfg.Carriers = []config.Carrier{{UserID: s.hub.ID, Agent: "hub"}}
	cfg.Join.From = []string{"question.test"}
	cfg.Limits = config.Limits{} // none
	cfg.Database.Path = filepath.Join(dir, "bridge.db")
	how.configure(s, &cfg, dir)
	path := filepath.Join(dir, "config.yaml")
	s.ok(cfg.Save(path, "A bridge under test."))
	s.cfg, err = config.Load(path, os.Getenv)
	s.ok(err)
	tokens, err := OpenTokens(ctx, s.cfg)
	s.ok(err)
	s.token, _, err = tokens.Add(ctx, Grant{Agent: "ci", Rooms: []string{"*"}})
	s.ok(err)
	s.ok(tokens.Close())
	s.bridge = newBridgeProcess(t, path, filepath.Join(dir, "bridge.log"))
	return s
}

func (s *soak) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *soak) person(name string) *testserver.User {
	s.t.Helper()
	u, err := s.server.Register(s.ctx, testserver.Account{Name: name, Password: "secret-" + name, DisplayName: name})
	s.ok(err)
	return u
}

// everybody is who is in every room.
func (s *soak) everybody() []string {
	all := []string{bot, s.hub.ID}
	for _, u := range s.people {
		all = append(all, u.ID)
	}
	return all
}

// newRooms makes the rooms of a chapter, with everybody in them.
func (s *soak) newRooms(n int) []string {
	s.t.Helper()
	var rooms []string
	for i := range n {
		first, others := s.people[0], append(s.people[1:len(s.people):len(s.people)], s.hub)
		invite := []string{bot}
		for _, u := range others {
			invite = append(invite, u.ID)
		}
		room, err := first.CreateRoom(s.ctx, testserver.Room{Name: fmt.Sprint("Room ", i+1), Invite: invite, Encrypted: s.how.encrypted})
		s.ok(err)
		for _, u := range others {
			_, err := u.Join(s.ctx, room)
			s.ok(err)
		}
		rooms = append(rooms, room)
	}
	for _, room := range rooms {
		s.ok(s.people[0].WaitForMember(s.ctx, room, bot, "join"))
		for _, v := range s.voices {
			s.ok(v.enter(s.ctx, room, s.everybody()))
		}
	}
	return rooms
}

// chapter plays some rounds, lets everything come to its end, and looks at what is left.
func (s *soak) chapter(rounds int, victims []victim) {
	s.t.Helper()
	killer := s.draw(1)
	s.bridge.startAndWait(s.ctx)
	c := s.begin(s.newRooms(3))
	for range rounds {
		s.round(killer, victims[killer.IntN(len(victims))])
	}
	s.bridge.startAndWait(s.ctx)
	c.stopAsking()
	h, ok := c.drain()
	if !ok {
		return
	}
	for _, violation := range h.violations() {
		s.t.Error(violation)
	}
	c.end()
}
