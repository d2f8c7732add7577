package harness

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// clear removes the room and returns what the agent did beside its conversation.
// No process of it runs any more.
func (r Room) clear() []string {
	var effects []string
	if r.Sandbox != nil {
		if killed := r.Sandbox.Close().Killed; killed > 0 {
			effects = append(effects, fmt.Sprintf("left processes behind, which were ended: %d", killed))
		}
	}
	dir := filepath.Dir(r.Home)
	entries, _ := os.ReadDir(dir) //nolint:errcheck // an agent may have removed it
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !slices.Contains([]string{r.Home, r.Work, r.Temp}, path) {
			effects = append(effects, fmt.Sprintf("wrote outside its folders: %q", entry.Name()))
		}
	}
	removeFolder(dir)
	if len(effects) > maxEffects {
		effects = append(effects[:maxEffects], fmt.Sprintf("and %d more", len(effects)-maxEffects))
	}
	return effects
}

// maxEffects bounds how many effects of a case are listed.
const maxEffects = 20

// removeFolder removes a folder, also when the agent took the right to write from
// folders in it.
func removeFolder(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder that is removed next
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
