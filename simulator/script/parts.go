package script

import (
	"errors"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Parts are what the folder of a wire holds. Without a Client, no server and no gateway is judged by the
// wire; the other parts are mandatory.
type Parts struct {
	Wire       *wires.Wire
	Decoder    wire.Decoder
	Client     wire.Client
	Book       *rule.Book
	Simulation *Simulation
}

// Register makes the wire known with all its parts. The error names the wire, and each part that is missing
// or lacks something.
func (p Parts) Register() error {
	name := p.Wire.Name
	err := errors.Join(wires.Register(p.Wire), wire.Register(name, p.Decoder), rule.Register(name, p.Book),
		Register(name, p.Simulation))
	if err == nil && p.Client != nil {
		err = wire.RegisterClient(name, p.Client)
	}
	return err
}
