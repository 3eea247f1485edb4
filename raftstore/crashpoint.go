package raftstore

// crashHook is set by the tests that end the process between two steps. The points lie on cold paths only.
var crashHook func(point string)

func crashpoint(point string) {
	if crashHook != nil {
		crashHook(point)
	}
}
