package serve

import (
	"github.com/meerkat-go/conformance/proxy/replay"
)

// match is a level of matching as a flag. It is a pflag.Value.
type match replay.Level

func (m *match) String() string { return replay.Level(*m).String() }
func (*match) Type() string     { return "level" }

func (m *match) Set(name string) error {
	level, err := replay.ParseLevel(name)
	*m = match(level)
	return err
}
