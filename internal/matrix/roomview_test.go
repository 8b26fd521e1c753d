package matrix

import (
	"encoding/json"
	"math"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
)

func record(sender bridge.UserID, content string) *bridge.StateRecord {
	return &bridge.StateRecord{Sender: sender, Content: json.RawMessage(content)}
}

// A12: creators have all power in room version 12 and are not in the power levels.
func TestA12(t *testing.T) {
	const levels = `{"users":{"@mod:ex.org":50,"@sam:ex.org":"100","@half:ex.org":99.5},"users_default":0}`
	for _, c := range []struct {
		name, create, levels string
		user                 bridge.UserID
		want                 int64
	}{
		{"creator in 12", `{"room_version":"12"}`, levels, "@root:ex.org", math.MaxInt64},
		{"additional creator in 12", `{"room_version":"12","additional_creators":["@dana:ex.org"]}`, levels, "@dana:ex.org", math.MaxInt64},
		{"additional creators that are no list", `{"room_version":"12","additional_creators":"@dana:ex.org"}`, levels, "@dana:ex.org", 0},
		{"additional creator in 11", `{"room_version":"11","additional_creators":["@dana:ex.org"]}`, levels, "@dana:ex.org", 0},
		{"creator in 11", `{"room_version":"11"}`, levels, "@root:ex.org", 0},
		{"no version", `{}`, levels, "@root:ex.org", 0},
		{"version that nobody knows", `{"room_version":"org.example.1"}`, levels, "@root:ex.org", 0},
		{"moderator", `{"room_version":"12"}`, levels, "@mod:ex.org", 50},
		{"level as text", `{"room_version":"12"}`, levels, "@sam:ex.org", math.MinInt64},
		{"half a level", `{"room_version":"12"}`, levels, "@half:ex.org", math.MinInt64},
		{"default", `{"room_version":"11"}`, `{"users_default":10}`, "@sam:ex.org", 10},
		{"default as text", `{"room_version":"11"}`, `{"users_default":"10"}`, "@sam:ex.org", math.MinInt64},
		{"users that are no object", `{"room_version":"11"}`, `{"users":[],"users_default":100}`, "@sam:ex.org", math.MinInt64},
		{"levels that are no object", `{"room_version":"11"}`, `[]`, "@sam:ex.org", math.MinInt64},
	} {
		v := view{create: record("@root:ex.org", c.create), powers: record("@root:ex.org", c.levels)}
		if got := v.power(c.user); got != c.want {
			t.Errorf("%s: power %d, want %d", c.name, got, c.want)
		}
	}
	if got := (view{create: record("@root:ex.org", `{"room_version":"11"}`)}).power("@root:ex.org"); got != math.MinInt64 {
		t.Errorf("without power levels somebody has power %d", got)
	}
	if got := (view{powers: record("@root:ex.org", levels)}).power("@mod:ex.org"); got != math.MinInt64 {
		t.Errorf("without a create event somebody has power %d", got)
	}
}

func TestMaySetState(t *testing.T) {
	v := view{create: record("@root:ex.org", `{"room_version":"11"}`), powers: record("@root:ex.org",
		`{"users":{"@mod:ex.org":50,"@admin:ex.org":100},"events":{"m.room.tombstone":100,"m.room.name":"0"}}`)}
	for _, c := range []struct {
		user, eventType string
		want            bool
	}{
		{"@admin:ex.org", "m.room.tombstone", true}, {"@mod:ex.org", "m.room.tombstone", false}, {"@mod:ex.org", "m.room.topic", true},
		{"@sam:ex.org", "m.room.topic", false}, {"@admin:ex.org", "m.room.name", false},
	} {
		if got := v.maySetState(bridge.UserID(c.user), c.eventType); got != c.want {
			t.Errorf("%s may set %s: %v", c.user, c.eventType, got)
		}
	}
}

func TestOthers(t *testing.T) {
	v := view{bot: bot, members: map[bridge.UserID]member{
		bot: {"join", ""}, "@dana:ex.org": {"join", ""}, "@sam:ex.org": {"invite", ""}, "@ex:ex.org": {"leave", ""}, "@b:ex.org": {"ban", ""},
	}}
	if v.others(false) != 1 || v.others(true) != 2 {
		t.Errorf("others: %d joined, %d with invited", v.others(false), v.others(true))
	}
}
