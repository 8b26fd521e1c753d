// Package sealedclient is a person in encrypted rooms: a Matrix client on mautrix, for tests and the demo. It is there with the
// build tag goolm alone.
package sealedclient
