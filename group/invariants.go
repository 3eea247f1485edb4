package group

// mustHold panics when an invariant is broken. It is called after every step under the build tag invariants.
func (m *Machine) mustHold() {
	if err := m.check(); err != nil {
		panic(err)
	}
}

func (m *Machine) check() error { return nil }
