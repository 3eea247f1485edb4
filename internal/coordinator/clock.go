package coordinator

import "time"

// SystemClock is the real one.
type SystemClock struct{}

// Now implements [Clock].
func (SystemClock) Now() time.Time { return time.Now() }

// NewTimer implements [Clock].
func (SystemClock) NewTimer(d time.Duration) (fired <-chan time.Time, stop func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}
