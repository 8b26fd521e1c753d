package matrix

import (
	"sync"

	"superpipeline.dev/question-bridge/bridge"
)

// roomLocks keeps one lock for each room.
type roomLocks struct {
	mu    sync.Mutex
	locks map[bridge.ConversationID]*roomLock
}

type roomLock struct {
	mu    sync.Mutex
	users int
}

func (l *roomLocks) lock(room bridge.ConversationID) (unlock func()) {
	l.mu.Lock()
	if l.locks == nil {
		l.locks = map[bridge.ConversationID]*roomLock{}
	}
	one := l.locks[room]
	if one == nil {
		one = &roomLock{}
		l.locks[room] = one
	}
	one.users++
	l.mu.Unlock()
	one.mu.Lock()
	return func() {
		one.mu.Unlock()
		l.mu.Lock()
		if one.users--; one.users == 0 {
			delete(l.locks, room)
		}
		l.mu.Unlock()
	}
}

// viewCache keeps the views of rooms that were asked for, so that a large room is not read for every reply. Whoever
// holds a room's lock may change its entry. A view is never changed once it is in here.
type viewCache struct {
	mu    sync.Mutex
	views map[bridge.ConversationID]view
}

// cachedRooms bounds the cache.
const cachedRooms = 500

func (c *viewCache) get(room bridge.ConversationID) (view, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.views[room]
	return v, ok
}

func (c *viewCache) put(room bridge.ConversationID, v view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.views == nil || len(c.views) >= cachedRooms {
		c.views = map[bridge.ConversationID]view{}
	}
	c.views[room] = v
}

func (c *viewCache) drop(room bridge.ConversationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.views, room)
}
