package gateway_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(idleClients); spec != "" {
		holdClients(spec)
		return
	}
	goleak.VerifyTestMain(m)
}
