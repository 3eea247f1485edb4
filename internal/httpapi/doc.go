// Package httpapi serves the operator's HTTP: metrics, liveness, readiness and the JSON views under /v1/. It knows the
// shapes of the answers and nothing of where they come from ([Source]); the command line decodes the same types.
package httpapi
