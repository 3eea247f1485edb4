// Package arch holds no code: its tests keep the structure of the project. They check which package may import which, that
// the pure packages stay pure, and that each package says what it is for.
package arch
