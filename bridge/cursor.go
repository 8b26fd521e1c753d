package bridge

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Place is where a question stands in a list, which is newest first. A page that goes on from a place has no question
// twice and leaves none out, however many are asked meanwhile.
type Place struct {
	CreatedAt time.Time // to the millisecond
	ID        QuestionID
}

// Place is where the question stands in a list.
func (q Question) Place() Place { return Place{q.CreatedAt, q.ID} }

// Compare is negative where p stands before other: it is newer.
func (p Place) Compare(other Place) int {
	return cmp.Or(other.CreatedAt.Compare(p.CreatedAt), cmp.Compare(other.ID, p.ID))
}

// Cursor writes a place as it is given out. What stands in it is nobody else's business.
func (p Place) Cursor() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", p.CreatedAt.UnixMilli(), p.ID))
}

// ReadCursor reads what [Place.Cursor] wrote. Anything else is CodeInvalidCursor.
func ReadCursor(cursor string) (Place, error) {
	plain, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, _ := strings.Cut(string(plain), " ")
	ms, notANumber := strconv.ParseInt(at, 10, 64)
	if err != nil || notANumber != nil || id == "" {
		return Place{}, refusal(CodeInvalidCursor, "this is not a cursor of a list of questions")
	}
	return Place{time.UnixMilli(ms).UTC(), QuestionID(id)}, nil
}
