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
	all := pages[string]{
		query: `SELECT question FROM postings WHERE question > $1 ORDER BY question LIMIT $2`, first: "",
		scan: column[string], key: func(id string) any { return id },
	}
	return all.each(ctx, f.Store, func(id string) error {
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
	all := pages[row]{
		query: `SELECT seq, raw FROM inbox WHERE seq > $1 AND state <> 'handled' ORDER BY seq LIMIT $2`, first: int64(0),
		scan: func(from dbutil.Scannable) (r row, err error) {
			err = from.Scan(&r.seq, raw(&r.raw))
			return r, err
		},
		key: func(r row) any { return r.seq },
	}
	return all.each(ctx, f.Store, func(r row) error {
		if !f.Reader.SaidBy(r.raw, f.ID) {
			return nil
		}
		return f.erase(ctx, &f.found.Events, some{
			table: `inbox`, set: `state = 'handled', raw = NULL, why = ''`, where: `seq = $1 AND state <> 'handled'`, args: []any{r.seq},
		})
	})
}

// locked forgets what they said whose key never came.
func (f *forgetting) locked(ctx context.Context) error {
	type row struct {
		id  string
		raw json.RawMessage
	}
	all := pages[row]{
		query: `SELECT id, raw FROM locked_events WHERE id > $1 ORDER BY id LIMIT $2`, first: "",
		scan: func(from dbutil.Scannable) (r row, err error) {
			err = from.Scan(&r.id, raw(&r.raw))
			return r, err
		},
		key: func(r row) any { return r.id },
	}
	return all.each(ctx, f.Store, func(r row) error {
		if !f.Reader.SaidBy(r.raw, f.ID) {
			return nil
		}
		return f.erase(ctx, &f.found.Events, some{table: `locked_events`, where: `id = $1`, args: []any{r.id}})
	})
}

// notices takes back what they were still to be told: courtesies, and replies to commands of theirs.
func (f *forgetting) notices(ctx context.Context) error {
	type row struct {
		id   int64
		told struct{ To bridge.UserID } // as both payloads name whom they are for
	}
	all := pages[row]{
		query: `SELECT id, payload FROM effects WHERE id > $1 AND kind IN ('` + string(bridge.EffectTell) + `', '` + string(bridge.EffectReply) + `') ORDER BY id LIMIT $2`, first: int64(0),
		scan: func(from dbutil.Scannable) (r row, err error) {
			err = from.Scan(&r.id, decoded(&r.told))
			return r, err
		},
		key: func(r row) any { return r.id },
	}
	return all.each(ctx, f.Store, func(r row) error {
		if r.told.To != f.ID {
			return nil
		}
		return f.erase(ctx, &f.found.Notices, some{table: `effects`, where: `id = $1`, args: []any{r.id}})
	})
}

// revocations forgets who took grants back; that somebody did stays.
func (f *forgetting) revocations(ctx context.Context) error {
	questions, err := list(ctx, f.Store, textOf[bridge.QuestionID], `SELECT question FROM grants WHERE revoked_by = $1`, f.ID)
	if err != nil {
		return err
	}
	for _, id := range questions {
		var n int
		err := f.Atomically(ctx, func(ctx context.Context) (err error) {
			n, err = f.documents(ctx, id)
			return err
		})
		if err != nil {
			return err
		}
		f.found.Documents += n
	}
	return f.erase(ctx, &f.found.Revocations, some{table: `grants`, set: `revoked_by = '` + string(bridge.Forgotten) + `'`, where: `revoked_by = $1`, args: []any{f.ID}})
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
		theirs := some{table: `room_state`, where: `conversation = $1 AND type = $2 AND key = $3`, args: []any{m.Conversation, m.Type, m.Key}}
		if err := f.erase(ctx, &f.found.Memberships, theirs); err != nil {
			return err
		}
	}
	// Who made a room, and who closed it, decides what that means.
	return f.erase(ctx, &f.found.States, some{
		table: `room_state`, set: `sender = ''`, where: `sender = $1 AND key <> $1 AND type NOT IN ('m.room.create', 'm.room.tombstone')`, args: []any{f.ID},
	})
}

func (f *forgetting) membershipsOf(ctx context.Context) ([]bridge.StateRecord, error) {
	return list(ctx, f.Store, scanState, `SELECT `+stateColumns+` FROM room_state WHERE type = 'm.room.member' AND key = $1`, f.ID)
}

// rows forgets what is theirs alone.
func (f *forgetting) rows(ctx context.Context) error {
	for _, r := range []struct {
		count        *int
		table, where string
	}{
		{&f.found.Replies, `replies`, `sender = $1`},
		{&f.found.Courtesies, `courtesies`, `substr(key, length(key) - length(CAST($1 AS TEXT))) = '/' || CAST($1 AS TEXT)`},
		{&f.found.Tokens, `tokens`, `user_id = $1`},
		{&f.found.Asks, `queue_person_asks`, `whom = $1`},
		{&f.found.Gates, `gates`, `principal_id = $1 AND state NOT IN ('open', 'approved')`},
	} {
		if err := f.erase(ctx, r.count, some{table: r.table, where: r.where, args: []any{f.ID}}); err != nil {
			return err
		}
	}
	return nil
}

// decisions empties what they decided about gated exchanges, as if they had taken it back when they made it.
func (f *forgetting) decisions(ctx context.Context) error {
	return f.erase(ctx, &f.found.Decisions, some{
		table: `decisions`, where: `decided_by = $1`, args: []any{f.ID},
		set: `revision = revision + 1, emptied_at = created_at, approved = NULL, decided_by = NULL, created_at = NULL, gate = NULL`,
	})
}

// queries empties those about them that were handed in and have ended. That they were asked stays, or they would be asked
// again.
func (f *forgetting) queries(ctx context.Context) error {
	return f.erase(ctx, &f.found.Gates, some{
		table: `host_queries`, set: `principal_id = '', query = '{}', next_query = NULL, next_query_id = NULL`, args: []any{f.ID},
		where: `principal_id = $1 AND status <> 'submitting' AND question IN (SELECT id FROM questions WHERE state <> 'pending')`,
	})
}

// some are some rows of a table.
type some struct {
	table, where string
	args         []any
	set          string // how they are changed; "" to delete them
}

// erase deletes or changes rows, and counts them; a dry run only counts.
func (f *forgetting) erase(ctx context.Context, count *int, rows some) error {
	if f.Dry {
		n, _, err := first(ctx, f.Store, column[int], `SELECT COUNT(*) FROM `+rows.table+` WHERE `+rows.where, rows.args...)
		*count += n
		return err
	}
	statement := `DELETE FROM ` + rows.table
	if rows.set != "" {
		statement = `UPDATE ` + rows.table + ` SET ` + rows.set
	}
	return f.write(ctx, func(ctx context.Context) error {
		n, err := f.exec(ctx, statement+` WHERE `+rows.where, rows.args...)
		if err == nil {
			*count += n
		}
		return err
	})
}
