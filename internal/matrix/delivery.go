package matrix

import (
	"context"
	"errors"
	"net/http"
	"time"

	"maunium.net/go/mautrix"

	"superpipeline.dev/question-bridge/bridge"
)

// ready says whether something can be posted in the room now. What nobody is there to see is held, and so is what must
// wait for the room's state: whether the room is encrypted must be known before anything is sent. In an encrypted room it
// is also held while nobody's device could read it; with a target, while that one's could not.
func (s *Service) ready(ctx context.Context, conv bridge.ConversationID, target bridge.UserID) (view, error) {
	v, err := s.rooms.view(ctx, conv, false)
	impossible := func(reason string) error {
		return &bridge.ErrImpossible{State: bridge.Unanswerable, Reason: reason}
	}
	switch {
	case errors.Is(err, errNotJoined):
		return v, impossible(bridge.ReasonNotInRoom)
	case err != nil:
		return v, unread(err)
	case v.encrypted && s.cipher == nil:
		return v, impossible(bridge.ReasonEncrypted)
	case v.tombstone != nil:
		return v, impossible(bridge.ReasonRoomUpgraded)
	case v.others(false) == 0:
		return v, &bridge.ErrHeld{Reason: bridge.ReasonNobody, Again: heldFor}
	case v.encrypted:
		return v, s.reaches(ctx, v, target)
	}
	return v, nil
}

// heldFor is how soon to look again by ourselves whether somebody came; an event says so sooner.
const heldFor = 10 * time.Minute

// targetThere holds a direct question whose target is not there to see it. Usually that was refused when it was asked.
func (s *Service) targetThere(ctx context.Context, q bridge.Question, conv bridge.ConversationID) error {
	if q.Scope != bridge.Direct {
		return nil
	}
	v, err := s.rooms.view(ctx, conv, false)
	switch {
	case err != nil:
		return unread(err)
	case v.members[q.Target].membership != "join":
		return &bridge.ErrHeld{Reason: bridge.ReasonTargetAway, Again: heldFor}
	}
	return nil
}

// unread holds a question until the room's state can be read.
func unread(err error) error {
	held := &bridge.ErrHeld{Reason: bridge.ReasonUnreadable, Again: 15 * time.Second}
	var retry *bridge.ErrRetry
	switch {
	case errors.As(err, &retry):
		held.Reason, held.Again = bridge.ReasonBusy, retry.After
	case unreachable(err):
		held.Reason = bridge.ReasonUnreachable
	}
	return held
}

// unreachable is true of a request that the homeserver itself did not answer.
func unreachable(err error) bool {
	var h mautrix.HTTPError
	return errors.As(err, &h) && h.Response == nil ||
		answered(err, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
}

// sendFailed says what a failed send means for the delivery. Only a clear refusal is the end of it.
func (s *Service) sendFailed(ctx context.Context, conv bridge.ConversationID, err error) error {
	var retry *bridge.ErrRetry
	var failed mautrix.HTTPError
	switch {
	case errors.Is(err, errNotJoined):
		return &bridge.ErrImpossible{State: bridge.Unanswerable, Reason: bridge.ReasonNotInRoom}
	case answered(err, http.StatusRequestEntityTooLarge), errors.Is(err, mautrix.MTooLarge):
		return &bridge.ErrImpossible{State: bridge.Failed, Reason: bridge.ReasonTooLarge}
	case answered(err, http.StatusBadRequest):
		return &bridge.ErrImpossible{State: bridge.Failed, Reason: bridge.ReasonRefused}
	case answered(err, http.StatusForbidden, http.StatusNotFound):
		if _, verr := s.rooms.view(ctx, conv, true); errors.Is(verr, errNotJoined) {
			return &bridge.ErrImpossible{State: bridge.Unanswerable, Reason: bridge.ReasonNotInRoom}
		} else if verr != nil {
			return err
		}
		return &bridge.ErrImpossible{State: bridge.Failed, Reason: bridge.ReasonNotPermitted}
	case errors.As(err, &retry) && !errors.Is(err, errInFlight):
		return &bridge.ErrDelayed{Reason: bridge.ReasonBusy, Err: err}
	case errors.As(err, &failed):
		return &bridge.ErrDelayed{Reason: bridge.ReasonUnreachable, Err: err}
	}
	return err
}
