// Package crash holds no code of its own: its tests kill the daemon with SIGKILL under load, again and again, and demand every
// acknowledged commit back; and they count, from outside, that each acknowledged commit of a serial client was synced.
package crash
