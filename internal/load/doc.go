// Package load makes measured load on a Kafka listener over raw connections: frames are encoded once and patched, answers
// are checked, and latency is taken for each request. The benchmarks and the crash tests use it.
package load
