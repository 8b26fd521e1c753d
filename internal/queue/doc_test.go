package queue

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The guide has the constants as they are.
func TestTheGuideHasTheConstants(t *testing.T) {
	guide, err := os.ReadFile("../../docs/queue.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]int{
		"QUESTION_BUDGET_TURNS | BudgetTurns": BudgetTurns, "QUESTION_EXPIRY_TURNS | ExpiryTurns": ExpiryTurns,
		"QUESTION_RECENT_USE_TURNS | RecentUseTurns": RecentUseTurns, "QUESTION_RETENTION_TURNS | RetentionTurns": RetentionTurns,
		"QUESTION_COOLDOWN_TURNS | CooldownTurns": CooldownTurns, "QUESTION_ANSWER_WEIGHT | AnswerWeight": AnswerWeight,
		"QUESTION_BUCKET_TTL_SECONDS | BucketTTL": int(BucketTTL.Seconds()),
	} {
		if row := fmt.Sprintf("\n| %s | %d |", name, value); !strings.Contains(string(guide), row) {
			t.Errorf("docs/queue.md lacks%s", row)
		}
	}
}
