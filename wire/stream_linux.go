package wire

// canSplice: splice(2) moves bytes between two TCP connections, and package net uses it for [io.CopyN] between them.
const canSplice = true
