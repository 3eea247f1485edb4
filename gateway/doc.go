// Package gateway stands between clients and the real brokers: one listener for each broker id and one for bootstrap, one
// upstream connection for each client connection, and the rewriting of every answer that carries a broker's address.
//
// The half that knows is [Directory]: brokers, their versions, topics, and what answers must say instead of real addresses.
// The half that moves bytes is [Server] with a link for each client connection, driven by the loop of package wire.
//
// # When brokers fail
//
// Own keys never need a broker, so a connection lives on when its broker dies. What its requests get then:
//
//   - ApiVersions: what the broker said last.
//   - Other requests, while another broker lives: that one's answer. It stands in on the same connection until the port's
//     own broker can be dialled again, knows the same Metadata, and refuses what only a leader may do in Kafka's own words.
//     Requests that concern one broker alone (its log directories, its configuration) end the connection.
//   - No broker lives: Metadata out of what is known, if it names topics and all of them are known; Produce, Fetch,
//     ListOffsets and OffsetForLeaderEpoch NOT_LEADER_OR_FOLLOWER for each partition; transactions
//     COORDINATOR_LOAD_IN_PROGRESS. The connection ends after any other, and clients keep what they know.
//   - Requests that were on their way when the broker died: the connection ends, as nobody knows what became of them. So it
//     does after a Produce that asked for no answer.
//   - A client that had logged in to the broker: own keys go on, anything else ends the connection, because only the client
//     can log in again.
package gateway
