//go:build compat

package compat

import (
	"testing"

	"jackdaw/compat-tests/wire"
)

// TestHarness_ThreeBrokers_KnowEachOther is the first thing to look at when everything fails.
func TestHarness_ThreeBrokers_KnowEachOther(t *testing.T) {
	c := three(t)
	id, err := c.Tree.Controller()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range c.Brokers {
		m, err := wire.Metadata(b.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if int(m.ControllerID) != id {
			t.Errorf("broker %d names controller %d, ZooKeeper has %d", b.ID, m.ControllerID, id)
		}
	}
}
