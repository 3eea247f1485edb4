// Package suite runs real clients, each a process of its own, through the same
// scenario directly on Apache Kafka and through the daemon, and judges what
// they printed: every record seen, none skipped, nothing acknowledged lost.
package suite
