//go:build race

package certificate_test

const raceDetector = true
