package rule

import (
	"fmt"
	"slices"
	"strings"
)

// Levels are the names of the levels, from the most to the least refused.
var Levels = []string{"strict", "live", "lenient"}

// ParseLevel reads the name of a level.
func ParseLevel(name string) (Level, error) {
	i := slices.Index(Levels, name)
	if i < 0 {
		return 0, fmt.Errorf("level %q: unknown; use %s", name, strings.Join(Levels, ", "))
	}
	return Level(i), nil
}

// String returns the level's name.
func (l Level) String() string {
	if int(l) < len(Levels) {
		return Levels[l]
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}
