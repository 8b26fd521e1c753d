package matrix

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// pushedNews is what a transaction says beside the events of rooms, where the homeserver pushes what concerns encryption
// (MSC 2409, MSC 3202 and MSC 4203). It is of all users of the registration.
type pushedNews struct {
	messages []json.RawMessage
	changed  []bridge.UserID
	counts   map[bridge.UserID]map[string]map[string]int // by user, device and kind of key
}

// read takes a member of a transaction; it says whether it is one of ours. One that does not decode says nothing: were the
// transaction refused, it would be repeated for ever.
func (p *pushedNews) read(name string, value json.RawMessage) {
	switch name {
	case "to_device", "de.sorunome.msc2409.to_device":
		_ = json.Unmarshal(value, &p.messages)
	case "device_lists", "org.matrix.msc3202.device_lists":
		var lists struct {
			Changed []bridge.UserID `json:"changed"`
		}
		_ = json.Unmarshal(value, &lists)
		p.changed = append(p.changed, lists.Changed...)
	case "device_one_time_keys_count", "org.matrix.msc3202.device_one_time_keys_count", "org.matrix.msc3202.device_one_time_key_counts":
		_ = json.Unmarshal(value, &p.counts)
	}
}

// about says whether a member of a transaction is for [pushedNews.read].
func (pushedNews) about(name string) bool {
	switch name {
	case "to_device", "de.sorunome.msc2409.to_device", "device_lists", "org.matrix.msc3202.device_lists",
		"device_one_time_keys_count", "org.matrix.msc3202.device_one_time_keys_count", "org.matrix.msc3202.device_one_time_key_counts":
		return true
	}
	return false
}

// of picks what is for the bot's device.
func (p pushedNews) of(bot bridge.UserID, device string) (news deviceNews) {
	for _, raw := range p.messages {
		to := readObject(raw)
		user, named := to.string("to_user_id"), to.string("to_device_id")
		if (user == "" || user == string(bot)) && (named == "" || named == "*" || named == device) {
			news.ToDevice.Events = append(news.ToDevice.Events, raw)
		}
	}
	news.DeviceLists.Changed, news.KeyCounts = p.changed, p.counts[bot][device]
	return news
}

// pushes is what the homeserver was seen to push since we started, and what of that is still to be seen to.
type pushes struct {
	mu       sync.Mutex
	messages bool // messages between devices
	counts   bool // how many keys there are; whose devices changed comes with it
	owed     deviceNews
	wake     chan struct{}
}

// all says that nothing needs to be synced: what is not seen to be pushed is not known to be.
func (p *pushes) all() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.messages && p.counts
}

func (p *pushes) add(news deviceNews) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = p.messages || len(news.ToDevice.Events) > 0
	p.counts = p.counts || news.KeyCounts != nil
	p.owed.DeviceLists.Changed = append(p.owed.DeviceLists.Changed, news.DeviceLists.Changed...)
	if news.KeyCounts != nil {
		p.owed.KeyCounts = news.KeyCounts
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pushes) next() (news deviceNews) {
	p.mu.Lock()
	defer p.mu.Unlock()
	news, p.owed = p.owed, deviceNews{}
	return news
}

// keepPushed stores what a transaction says of encryption. What takes requests to the homeserver is done afterwards: it
// waits for our answer.
func (s *Service) keepPushed(ctx context.Context, p pushedNews) error {
	if s.cipher == nil || p.messages == nil && p.changed == nil && p.counts == nil {
		return nil
	}
	select {
	case <-s.cipher.begun():
	default:
		return errNotBegun // it is pushed again
	}
	news := p.of(s.hs.bot, string(s.cipher.device().cli.DeviceID))
	if err := s.storeKeys(ctx, news); err != nil {
		return err
	}
	s.pushes.add(news)
	return nil
}

// heedPushed sees to what was pushed, until ctx ends.
func (s *Service) heedPushed(ctx context.Context, engine Engine) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.pushes.wake:
		}
		if err := s.heedKeys(ctx, engine, s.pushes.next()); err != nil && ctx.Err() == nil {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("Could not see to what was pushed of devices")
		}
	}
}
