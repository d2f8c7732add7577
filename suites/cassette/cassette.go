// Package cassette holds the specs of area CAS, what an agent owes to its
// recording, and those about the committed recordings, on which every other
// verdict rests: each is whole and says where it came from.
package cassette

import (
	"errors"
	"fmt"

	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/suites/program"
)

// Area is the part of the requirements' ids before the dash.
const Area = "CAS"

// Register adds the specs to p.
func Register(p *program.Program) {
	p.Specs(Area)
	if p.Tapes() == nil {
		return
	}
	for _, pl := range p.Plays() {
		if !pl.Silent() {
			p.Sound("cassettes/"+pl.Cassette(), "is whole and the simulator's", func() error { return sound(p, pl) })
		}
	}
}

func sound(p *program.Program, pl scenario.Play) error {
	tape, err := cassette.OpenFS(p.Tapes(), pl.Cassette())
	if err != nil {
		return err
	}
	if !tape.Sealed() {
		return errors.New(tape.Name() + ": has no seals; record it again with: make cassettes")
	}
	if err := tape.Verify(); err != nil {
		return err
	}
	if meta := tape.Meta(); meta.Provenance != cassette.ProvenanceSimulator || !meta.Nominal() {
		return fmt.Errorf("%s: says it is %s, with nominal times: %t; committed cassettes are %s, with nominal times",
			tape.Name(), meta.Provenance, meta.Nominal(), cassette.ProvenanceSimulator)
	}
	return nil
}
