// Package testserver starts a real Dendrite homeserver on loopback, makes users and rooms on it, and starts a private
// PostgreSQL; tests and `questiond demo` use it.
//
// On Linux, no program started here outlives the process that started it, even when that process is killed with SIGKILL
// (its temporary directories stay). Elsewhere a killed parent leaves its children behind.
//
// A missing program is an error that says how to get it, never a reason to skip a test.
package testserver
