package httpapi

import (
	"net/http"

	"superpipeline.dev/question-bridge/bridge/certificate"
)

// keysFresh is how long a copy of the list of keys may be used, in seconds. A new key is listed before it signs, but whoever
// has a copy may not know it yet for so long.
const keysFresh = "300"

// keys lists the public keys of certificates, retired ones too, for anybody: the list holds no secret.
func (s *server) keys(w http.ResponseWriter, r *http.Request) error {
	list := certificate.KeyList{Keys: []certificate.Key{}}
	if s.Keys != nil {
		var err error
		if list, err = s.Keys(r.Context()); err != nil {
			return err
		}
	}
	w.Header().Set("Cache-Control", "public, max-age="+keysFresh)
	return reply(w, http.StatusOK, list)
}
