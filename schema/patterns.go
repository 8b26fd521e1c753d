package schema

// patternReasons says in words what the patterns of our schemas ask for. A refusal has the pattern itself as its limit.
var patternReasons = map[string]string{
	`\S`:                  "is blank",
	`^@[^:\s]*:\S+$`:      "is not a Matrix user id such as @alice:example.org",
	`^[!-~]+$`:            "has something else than visible ASCII characters",
	`^https?://[^\s<>]+$`: "is not an http:// or https:// address",
	`^g[a-z0-9]{5}$`:      "is not the id of a grant, such as g7k3pd",
	`^d[a-z0-9]{5}$`:      "is not the id of a decision, such as d7k2m9",
	patternHTTPS:          "is not an https:// address",
	patternUUID7:          "is not a UUID of version 7 in lower case",
	patternWord:           "is not a word of a-z, 0-9 and _ that begins with a letter, of at most 64 characters",
	patternInstant:        "is not a time such as 2026-06-27T10:31:04Z, with seconds and an offset",
	patternLooseInstant:   "is not a time such as 2026-06-27T10:31Z, with an offset",
}

const (
	patternHTTPS        = `^https://[^\s<>/?#]+([/?#][^\s<>]*)?$`
	patternUUID7        = `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
	patternWord         = `^[a-z][a-z0-9_]{0,63}$`
	patternInstant      = `^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	patternLooseInstant = `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$`
)

func patternReason(pattern string) string {
	if reason, ok := patternReasons[pattern]; ok {
		return reason
	}
	return "does not match the pattern " + pattern
}
