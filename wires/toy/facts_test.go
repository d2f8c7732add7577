package toy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires"
)

// What is wrong with the facts of a wire is told with the folder of the wire.
func TestWrongFactsNameTheirWire(t *testing.T) {
	defer func() {
		if said := fmt.Sprint(recover()); !strings.HasPrefix(said, `wires/toy/facts.yaml:2:1: key "titel" is not known`) {
			t.Error(said)
		}
	}()
	wires.Read("toy", []byte("name: toy\ntitel: Toy\n"))
}
