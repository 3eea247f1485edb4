// Package abuse holds no code: its tests attack a daemon from outside, as a process of its own, with what clients, disks,
// brokers and operators may throw at it. Beside each attack another client commits steadily: it must see no error and no
// stall, and what it was told is committed must be there afterwards.
package abuse
