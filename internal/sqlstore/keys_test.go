package sqlstore_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/sqlstore"
)

func signingKey(n int) sqlstore.SigningKey {
	return sqlstore.SigningKey{
		ID: fmt.Sprintf("key_%d", n), CreatedAt: start.Add(time.Duration(n) * time.Second), Seed: []byte{0, byte(n), 0xff},
	}
}

func retired(k sqlstore.SigningKey, at time.Time) sqlstore.SigningKey {
	k.RetiredAt = &at
	return k
}

func TestSigningKeys(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		want := func(what string, keys ...sqlstore.SigningKey) {
			t.Helper()
			if got := must(s.SigningKeys(t.Context()))(t); len(got) != len(keys) || len(keys) > 0 && !reflect.DeepEqual(got, keys) {
				t.Fatalf("%s: got %v, want %v", what, got, keys)
			}
		}
		want("at first")
		for n := 1; n <= 2; n++ { // the second is not needed
			if got := must(s.EnsureSigningKey(t.Context(), signingKey(n)))(t); !reflect.DeepEqual(got, signingKey(1)) {
				t.Fatalf("the key that signs is %v", got)
			}
		}
		want("after the first", signingKey(1))
		noError(t, s.RotateSigningKey(t.Context(), signingKey(3)))
		noError(t, s.Close())
		s = d.open(t)
		first, third := retired(signingKey(1), signingKey(3).CreatedAt), signingKey(3)
		want("after a rotation", third, first)
		if got := must(s.EnsureSigningKey(t.Context(), signingKey(4)))(t); got.ID != third.ID {
			t.Errorf("the key that signs is %v", got)
		}
		if err := s.RotateSigningKey(t.Context(), signingKey(1)); err == nil {
			t.Error("a key is used twice")
		}
		want("after a rotation that failed", third, first)
		for name, k := range map[string]sqlstore.SigningKey{"no secret": {ID: "key_9", CreatedAt: start}, "retired": retired(signingKey(9), start)} {
			if err := s.RotateSigningKey(t.Context(), k); err == nil {
				t.Errorf("%s: it was kept", name)
			}
		}
		for id, there := range map[string]bool{third.ID: false, "key_9": false, first.ID: true} {
			equal(t, "removed "+id, must(s.RemoveSigningKey(t.Context(), id))(t), there)
		}
		want("after a removal", third)
	})
}

// Whatever happens at once, one key signs.
func TestSigningKeysRace(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		var all sync.WaitGroup
		for n := range 20 {
			all.Go(func() {
				k := signingKey(n)
				var err error
				if n%2 == 0 {
					_, err = s.EnsureSigningKey(t.Context(), k)
				} else {
					err = s.RotateSigningKey(t.Context(), k)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		signing := 0
		for _, k := range must(s.SigningKeys(t.Context()))(t) {
			if k.RetiredAt == nil {
				signing++
			}
		}
		equal(t, "keys that sign", signing, 1)
	})
}
