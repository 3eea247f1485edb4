// Package keyrange holds the arithmetic of hashed keys: slots, key ranges, ownership and frontier as step functions.
package keyrange
