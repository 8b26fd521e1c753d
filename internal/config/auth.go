package config

import "fmt"

// Auth says how people show who they are, beside the tokens that `questiond token add --user` makes.
type Auth struct {
	OpenID OpenID `yaml:"openid"`
}

// OpenID says who may sign in with a Matrix OpenID token, and for what.
type OpenID struct {
	Servers    []string `yaml:"servers"`     // homeservers whose users may; the own one if absent, nobody if empty
	MayApprove bool     `yaml:"may_approve"` // whether they may approve a subject and choose what requires an admin
}

func (k *checker) openID(o OpenID) {
	const field = "auth.openid.servers"
	seen := map[string]int{}
	for i, name := range o.Servers {
		at := fmt.Sprintf("%s[%d]", field, i)
		if k.rule(isServerName(name), at, "must be a server name of at most %d characters, like example.org", maxServerName) {
			k.unique(seen, name, i, at, field+"[%d]")
		}
	}
}
