// Package sealedclient is a person in encrypted rooms: a Matrix client on mautrix, for tests and the demo. Without the build tag
// goolm there is none.
package sealedclient
