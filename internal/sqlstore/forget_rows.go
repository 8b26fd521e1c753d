package sqlstore

import (
	"context"
	"encoding/json"
	"slices"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// prompts clears the postings that wait for something of theirs, whatever became of the questions.
func (f *forgetting) prompts(ctx context.Context) error {
	return pages(ctx, f.Store, column[string], `SELECT question FROM postings WHERE question > $1 ORDER BY question LIMIT $2`,
		func(id string) any { return id }, "", func(id string) error {
			named, err := f.posting(ctx, bridge.QuestionID(id), false) // most are looked at once, without a lock
			if err != nil || !named {
				return err
			}
			return f.Atomically(ctx, func(ctx context.Context) error {
				_, err := f.posting(ctx, bridge.QuestionID(id), false)
				return err
			})
		})
}

// posting clears one posting. Outside a transaction it only looks.
func (f *forgetting) posting(ctx context.Context, id bridge.QuestionID, ended bool) (named bool, err error) {
	_, writing := f.transaction(ctx)
	if writing {
		if err := f.hold(ctx, id); err != nil {
			return false, err
		}
	}
	type row struct {
		asides   []aside
		progress json.RawMessage
	}
	r, ok, err := first(ctx, f.Store, func(from dbutil.Scannable) (r row, err error) {
		err = from.Scan(decoded(&r.asides), raw(&r.progress))
		return r, err
	}, `SELECT asides, progress FROM postings WHERE question = $1`, id)
	if err != nil || !ok {
		return false, err
	}
	asides := slices.DeleteFunc(slices.Clone(r.asides), func(a aside) bool { return a.To == f.ID })
	progress, changed := f.Reader.ForgetProgress(r.progress, f.ID, ended)
	if named = changed || len(asides) < len(r.asides); !named {
		return false, nil
	}
	if !writing {
		f.found.Prompts++
	}
	if f.Dry || !writing {
		return named, nil
	}
	encoded, err := encode(append([]aside{}, asides...))
	if err != nil {
		return named, err
	}
	_, err = f.exec(ctx, `UPDATE postings SET asides = $2, progress = $3 WHERE question = $1`, id, encoded, progress)
	return named, err
}

// events ends what they said and nobody has read, or nobody could; its id stays, so that it is not stored again.
func (f *forgetting) events(ctx context.Context) error {
	type row struct {
		seq int64
		raw json.RawMessage
	}
	scan := func(from dbutil.Scannable) (r row, err error) {
		err = from.Scan(&r.seq, raw(&r.raw))
		return r, err
	}
	return pages(ctx, f.Store, scan, `SELECT seq, raw FROM inbox WHERE seq > $1 AND state <> 'handled' ORDER BY seq LIMIT $2`,
		func(r row) any { return r.seq }, int64(0), func(r row) error {
			if !f.Reader.SaidBy(r.raw, f.ID) {
				return nil
			}
			return f.change(ctx, &f.found.Events, `inbox`, `SET state = 'handled', raw = NULL, why = ''`, `seq = $1 AND state <> 'handled'`, r.seq)
		})
}

// notices takes back what they were still to be told.
func (f *forgetting) notices(ctx context.Context) error {
	type row struct {
		id       int64
		courtesy bridge.Courtesy
	}
	scan := func(from dbutil.Scannable) (r row, err error) {
		err = from.Scan(&r.id, decoded(&r.courtesy))
		return r, err
	}
	return pages(ctx, f.Store, scan, `SELECT id, payload FROM effects WHERE id > $1 AND kind = '`+string(bridge.EffectTell)+`' ORDER BY id LIMIT $2`,
		func(r row) any { return r.id }, int64(0), func(r row) error {
			if r.courtesy.To != f.ID {
				return nil
			}
			return f.remove(ctx, &f.found.Notices, `effects`, `id = $1`, r.id)
		})
}

// memberships forgets those of rooms that they have left, and that they set what a room is called.
func (f *forgetting) memberships(ctx context.Context) error {
	all, err := f.membershipsOf(ctx)
	if err != nil {
		return err
	}
	for _, m := range all {
		if f.Reader.Present(m.Content) {
			f.found.Joined++
			continue
		}
		if err := f.remove(ctx, &f.found.Memberships, `room_state`, `conversation = $1 AND type = $2 AND key = $3`, m.Conversation, m.Type, m.Key); err != nil {
			return err
		}
	}
	// Who made a room, and who closed it, decides what that means.
	return f.change(ctx, &f.found.States, `room_state`, `SET sender = ''`,
		`sender = $1 AND key <> $1 AND type NOT IN ('m.room.create', 'm.room.tombstone')`, f.ID)
}

func (f *forgetting) membershipsOf(ctx context.Context) ([]bridge.StateRecord, error) {
	return list(ctx, f.Store, scanState, `SELECT `+stateColumns+` FROM room_state WHERE type = 'm.room.member' AND key = $1`, f.ID)
}

// rows forgets what is theirs alone.
func (f *forgetting) rows(ctx context.Context) error {
	for _, r := range []struct {
		count *int
		table string
		where string
	}{
		{&f.found.Replies, `replies`, `sender = $1`},
		{&f.found.Courtesies, `courtesies`, `substr(key, length(key) - length(CAST($1 AS TEXT))) = '/' || CAST($1 AS TEXT)`},
		{&f.found.Tokens, `tokens`, `user_id = $1`},
	} {
		if err := f.remove(ctx, r.count, r.table, r.where, f.ID); err != nil {
			return err
		}
	}
	return nil
}

func (f *forgetting) remove(ctx context.Context, count *int, table, where string, args ...any) error {
	return f.execute(ctx, count, `DELETE FROM `+table+` WHERE `+where, table, where, args...)
}

func (f *forgetting) change(ctx context.Context, count *int, table, set, where string, args ...any) error {
	return f.execute(ctx, count, `UPDATE `+table+` `+set+` WHERE `+where, table, where, args...)
}

// execute runs a statement, or only counts the rows that it would change.
func (f *forgetting) execute(ctx context.Context, count *int, statement, table, where string, args ...any) error {
	if f.Dry {
		n, _, err := first(ctx, f.Store, column[int], `SELECT COUNT(*) FROM `+table+` WHERE `+where, args...)
		*count += n
		return err
	}
	return f.write(ctx, func(ctx context.Context) error {
		n, err := f.exec(ctx, statement, args...)
		if err == nil {
			*count += n
		}
		return err
	})
}
