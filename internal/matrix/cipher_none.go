//go:build !goolm

package matrix

import "context"

// newCipher says that there is none: what would do it was left out of this program.
func newCipher(Encryption, *Service) (cipher, error) { return nil, errNoEncryption }

// ReadDevice says the same.
func ReadDevice(context.Context, Encryption, Store) (Device, error) { return Device{}, errNoEncryption }

// RecoveryKey says the same.
func RecoveryKey(context.Context, Encryption, Store) (string, error) { return "", errNoEncryption }
