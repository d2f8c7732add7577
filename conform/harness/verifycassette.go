package harness

import (
	"fmt"
	"io/fs"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// VerifyCassette checks that the cassette of c in recordings is whole, sealed and
// recorded from the simulator with nominal times. Every verdict of the cassette
// source rests on it. A case without a cassette passes.
func VerifyCassette(c Case, recordings fs.FS) error {
	if !c.HasCassette() {
		return nil
	}
	recording, err := cassette.OpenFS(recordings, c.CassettePath())
	if err != nil {
		return err
	}
	if !recording.Sealed() {
		return fmt.Errorf("%s: has no seals; record it again with: make cassettes", recording.Name())
	}
	if err := recording.Verify(); err != nil {
		return err
	}
	if meta := recording.Meta(); meta.Provenance != cassette.ProvenanceSimulator || !meta.Nominal() {
		return fmt.Errorf("%s: says it is %s, with nominal times: %t; committed cassettes are %s, with nominal times",
			recording.Name(), meta.Provenance, meta.Nominal(), cassette.ProvenanceSimulator)
	}
	return nil
}
