package httpapi

// Patterns are the patterns of every route.
func Patterns() (all []string) {
	for _, r := range (&server{}).routes() {
		all = append(all, r.pattern)
	}
	return all
}
