// Package realkafka installs Apache Kafka from Maven Central and runs it for
// tests, benchmarks and the interop suite: one broker or three in KRaft's
// combined mode, on loopback, each in its own process that a test may kill,
// pause and start again.
//
// It needs java (17 or newer) and mvn on PATH and nothing else; it uses the
// standard library only, so that a client library under test never takes part
// in bringing its own server up.
package realkafka
