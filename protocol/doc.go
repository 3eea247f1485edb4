// Package protocol translates: a kmsg request into an event of package group, a result into a kmsg response of the
// request's version, and a record into bytes and back. There is one file for each API key.
package protocol
