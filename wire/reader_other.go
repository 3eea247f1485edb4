//go:build !unix

package wire

// rawReads: descriptors can be read without waiting.
const rawReads = false

// readOnce is not used where descriptors cannot be read without waiting; NewReader then finds raw to be nil.
func (r *Reader) readOnce(uintptr) bool { return true }
