//go:build !unix

package gateway

// silent cannot be asked here; a connection that has ended is found out by its next use.
func silent(uintptr) bool { return true }
