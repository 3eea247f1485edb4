//go:build !linux

package wire

// canSplice: package net would copy through a buffer of its own.
const canSplice = false
