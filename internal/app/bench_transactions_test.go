package app

import (
	"bytes"
	cryptorand "crypto/rand"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix/appservice"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/measure"
)

// roomsBusy is in how many rooms people talk at the same time.
const roomsBusy = 50

// perTransaction is how many events a homeserver sends at once, when there are that many.
const perTransaction = 50

// BenchmarkTransactions pushes transactions over one connection, one after the other as homeservers do, to our handler
// and to mautrix's own, which keeps nothing. Nobody handles the events meanwhile. What is of no interest are messages in
// rooms without a question.
func BenchmarkTransactions(b *testing.B) {
	b.Run("every event of interest", func(b *testing.B) {
		compareTransactions(b, 1).Report(b, "transactions of 50 events, every one of interest; limit: mautrix, which stores nothing",
			measure.Goal{AtLeast: 0.8}, measure.PerSecond("events"))
	})
	b.Run("one in ten of interest", func(b *testing.B) {
		compareTransactions(b, 10).Report(b, "transactions of 50 events, one in ten of interest; same limit",
			measure.Goal{AtLeast: 1}, measure.PerSecond("events"))
	})
}

func compareTransactions(b *testing.B, oneIn int) measure.Result {
	r := newRig(b, few, nowhere)
	ours := &pusher{rig: r, url: listen(b, r.channel.Handler()), oneIn: oneIn}
	stock := &pusher{rig: r, url: listen(b, stockHandler(b, r)), oneIn: oneIn}
	return measure.Compare(b.Loop, ours.slice, stock.slice)
}

// stockHandler is mautrix's, with somebody who takes the events from its channel.
func stockHandler(b *testing.B, r *rig) http.Handler {
	b.Helper()
	as, err := appservice.CreateFull(appservice.CreateOpts{
		Registration: registrationFile(r.reg).Registration(), HomeserverDomain: benchDomain, HomeserverURL: nowhere,
	})
	r.ok(err)
	as.Log = zerolog.Nop()
	done := make(chan struct{})
	b.Cleanup(func() { close(done) })
	go func() {
		for {
			select {
			case <-as.Events:
			case <-done:
				return
			}
		}
	}()
	return as.Router
}

// pusher is a homeserver that pushes events, of which one in so many stands in a room with a question.
type pusher struct {
	*rig
	url    string
	oneIn  int
	client http.Client
}

// slice gives the events a second of some transactions.
func (p *pusher) slice() float64 {
	const transactions = 20
	var bodies [transactions][]byte
	for i := range bodies {
		bodies[i] = p.transaction()
	}
	rate := measure.Rate(transactions*perTransaction, func() {
		for _, body := range bodies {
			p.put(body)
		}
	})
	p.done()
	return rate
}

func (p *pusher) transaction() []byte {
	var body bytes.Buffer
	body.WriteString(`{"events":[`)
	for i := range perTransaction {
		if i > 0 {
			body.WriteByte(',')
		}
		room := filledRoom(rand.N(roomsBusy))
		if i%p.oneIn != 0 {
			room = bridge.ConversationID(fmt.Sprintf("!talk%d:%s", rand.N(roomsBusy), benchDomain))
		}
		body.WriteString(saidIn(room, newEventID(), newEventID(), "I would wait until the backup has run"))
	}
	body.WriteString(`]}`)
	return body.Bytes()
}

// newEventID makes one as room versions from 4 on have them.
func newEventID() string { return "$" + cryptorand.Text() + cryptorand.Text()[:17] }

// saidIn is a reply in a thread, as Element sends it and Dendrite pushes it.
func saidIn(room bridge.ConversationID, id, thread, text string) string {
	return fmt.Sprintf(`{"content":{"body":%q,"m.mentions":{},"m.relates_to":{"event_id":%q,"is_falling_back":true,"m.in_reply_to":{"event_id":%q},"rel_type":"m.thread"},"msgtype":"m.text"},"event_id":%q,"origin_server_ts":1793534400000,"room_id":%q,"sender":"@dana:%s","type":"m.room.message","unsigned":{"age":12,"transaction_id":"m1793534400000.7"},"user_id":"@dana:%s"}`,
		text, thread, thread, id, room, benchDomain, benchDomain)
}

func (p *pusher) put(body []byte) {
	p.sentinel++
	req, err := http.NewRequest(http.MethodPut, fmt.Sprintf("%s/_matrix/app/v1/transactions/%d", p.url, p.sentinel), bytes.NewReader(body))
	p.ok(err)
	req.Header.Set("Authorization", "Bearer "+p.reg.HSToken)
	resp, err := p.client.Do(req)
	p.ok(err)
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		p.tb.Fatalf("a transaction was answered with %d", resp.StatusCode)
	}
}
