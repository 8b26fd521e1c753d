//go:build !goolm

package matrix

// newCipher says that there is none: what would do it was left out of this program.
func newCipher(Encryption, *Service) (cipher, error) { return nil, errNoEncryption }
