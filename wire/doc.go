// Package wire knows Kafka's frames: sizes, request and response headers of every version, the table of versions that we
// answer ourselves, and the loop of one client connection with its bounded FIFO of response slots.
//
// A request is answered locally ([Local]) or passed to the broker behind the connection ([Upstream]); answers leave in
// request order whichever way they come. Nothing here knows what a group is.
package wire
