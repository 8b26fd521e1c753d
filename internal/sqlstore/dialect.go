package sqlstore

// dialect holds every difference between the statements for the two databases. SQLite has one writer at a time, which
// takes its lock when a transaction begins, so it needs no lock of its own.
type dialect struct {
	// row names a row of questions by what every index holds of it.
	row string
	// holdRow keeps the rows that were read as they are until the transaction ends.
	holdRow string
	// takeRow does the same, and passes over rows that somebody else holds.
	takeRow string
	// inOrder makes transactions that store events wait for each other: numbers are given before the commit, and an
	// event must not become visible after one with a later number.
	inOrder string
	// holdSubject makes transactions that ask about one subject, named by asker, conversation and id, wait for each other.
	holdSubject string
	// columns lists every column with its table and an expression for its bytes; contains says whether such bytes (%s)
	// have the text $1 in them.
	columns, contains string
	// holdPending makes transactions wait for each other that add pending questions of one asker, or to one conversation.
	holdPending string
	// holdKeys makes transactions that change which key signs wait for each other.
	holdKeys string
}

var (
	sqliteDialect = dialect{
		row: "rowid",
		columns: `
			SELECT m.name, c.name, 'CAST("' || c.name || '" AS BLOB)' FROM sqlite_master m JOIN pragma_table_info(m.name) c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid`,
		contains: `instr(%s, CAST($1 AS BLOB)) > 0`,
	}
	postgresDialect = dialect{
		row:         "id",
		holdRow:     " FOR NO KEY UPDATE",
		takeRow:     " FOR UPDATE SKIP LOCKED",
		inOrder:     "SELECT pg_advisory_xact_lock(7165733)",
		holdSubject: "SELECT pg_advisory_xact_lock(7165734, hashtext($1 || ' ' || $2 || ' ' || $3))",
		holdPending: "SELECT pg_advisory_xact_lock(7165736, hashtext($1)), pg_advisory_xact_lock(7165737, hashtext($2))",
		holdKeys:    "SELECT pg_advisory_xact_lock(7165735)",
		columns: `
			SELECT table_name::TEXT, column_name::TEXT,
				format(CASE data_type WHEN 'bytea' THEN '%I' ELSE 'convert_to(%I::TEXT, ''UTF8'')' END, column_name)
			FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position`,
		contains: `position(convert_to(CAST($1 AS TEXT), 'UTF8') IN %s) > 0`,
	}
)
