package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const secretPrefix = "whsec_"

// signer signs for one endpoint, with every secret that is live.
type signer []*standardwebhooks.Webhook

// newSigner refuses a secret that is empty: anybody could sign with that.
func newSigner(secrets []string) (signer, error) {
	if len(secrets) == 0 {
		return nil, errors.New("there is no secret")
	}
	var s signer
	for _, secret := range secrets {
		if strings.TrimPrefix(secret, secretPrefix) == "" {
			return nil, errors.New("a secret is empty")
		}
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil { // its text may hold some of the secret
			return nil, errors.New("a secret is not in Base64")
		}
		s = append(s, key)
	}
	return s, nil
}

// NewSecret makes a secret of 32 random bytes.
func NewSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails: crypto/rand.Read crashes the program instead
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// headers gives those of one attempt. The id is the delivery's, the time is the attempt's.
func (s signer) headers(id string, at time.Time, body []byte) (http.Header, error) {
	signatures := make([]string, len(s))
	for i, key := range s {
		var err error
		if signatures[i], err = key.Sign(id, at, body); err != nil {
			return nil, fmt.Errorf("sign a webhook: %w", err)
		}
	}
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "question-bridge")
	h.Set(standardwebhooks.HeaderWebhookID, id)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return h, nil
}
