// Package upgrades holds the steps that bring a database to the newest schema. A step that was released never changes.
package upgrades

import (
	"embed"

	"go.mau.fi/util/dbutil"
)

//go:embed *.sql
var files embed.FS

// Table is every step, in order.
var Table = dbutil.BuildUpgradeTable().WithFS(files).Finish()
