// Package gateway stands between clients and the real brokers: one listener for each broker id and one for bootstrap, one
// upstream connection for each client connection, and the rewriting of every answer that carries a broker's address.
package gateway
