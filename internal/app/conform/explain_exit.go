package conform

import (
	"fmt"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// exitCodeEntries explain the exit codes twice: "recorder:3" is one of the
// recorder, "exit-3" is 3 wherever it occurs.
func exitCodeEntries() ([]*entry, error) {
	var entries []*entry
	byCode := map[int]*entry{}
	for _, c := range cli.ExitCodes("") {
		id := fmt.Sprintf("%s:%d", c.Program, c.Code)
		entries = append(entries, &entry{Kind: kindExitCode, ID: id, Title: c.Meaning,
			Aliases: []string{fmt.Sprintf("%s-%d", c.Program, c.Code), fmt.Sprintf("%s-exit-%d", c.Program, c.Code)}})
		general := byCode[c.Code]
		if general == nil {
			general = &entry{Kind: kindExitCode, ID: fmt.Sprintf("exit-%d", c.Code), Aliases: []string{fmt.Sprint(c.Code), fmt.Sprintf("exit-code-%d", c.Code)},
				Title: fmt.Sprintf("what exit code %d means", c.Code)}
			byCode[c.Code] = general
			entries = append(entries, general)
		}
		general.Sections = append(general.Sections, paragraph{id, c.Meaning})
	}
	return entries, nil
}
