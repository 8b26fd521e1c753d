package sqlstore

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"go.mau.fi/util/dbutil"
)

// slow is when a query is worth a line in the log.
const slow = time.Second

// queryLog logs slow queries, and never what they were given: that may be what a person wrote.
type queryLog struct{ log zerolog.Logger }

func (l queryLog) QueryTiming(_ context.Context, method, query string, _ []any, rows int, took time.Duration, err error) {
	if took < slow {
		return
	}
	l.log.Warn().Str("method", method).Str("query", query[:min(len(query), 300)]).Int("rows", rows).Dur("took", took).AnErr("error", err).Msg("Slow query")
}

func (l queryLog) WarnUnsupportedVersion(current, compat, latest int) {
	l.log.Warn().Int("version", current).Int("compatible", compat).Int("known", latest).Msg("The database is newer than this program")
}

func (l queryLog) PrepareUpgrade(current, _, latest int) {
	l.log.Debug().Int("version", current).Int("latest", latest).Msg("Database schema")
}

func (l queryLog) DoUpgrade(from, to int, message string, _ dbutil.TxnMode) {
	l.log.Info().Int("from", from).Int("to", to).Str("change", message).Msg("Upgrading the database")
}

func (l queryLog) Warn(message string, args ...any) { l.log.Warn().Msgf(message, args...) }
