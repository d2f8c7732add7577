package harness

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// clearRoom removes the room and returns what the agent did beside its conversation.
// No process of it runs any more.
func (r Room) clearRoom() []string {
	var effects []string
	if r.Sandbox != nil {
		did := r.Sandbox.Close()
		if did.Killed > 0 {
			effects = append(effects, fmt.Sprintf("left %s behind, which the harness ended", countProcesses(did.Killed)))
		}
		if did.Truncated > 0 {
			effects = append(effects, fmt.Sprintf("wrote more than is kept of the output: %s", countProcesses(did.Truncated)))
		}
	}
	dir := filepath.Dir(r.Home)
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !slices.Contains([]string{r.Home, r.Work, r.Temp, r.Tools.Log}, path) {
			effects = append(effects, fmt.Sprintf("wrote outside its folders: %q", entry.Name()))
		}
	}
	removeFolder(dir)
	if len(effects) > maxEffects {
		effects = append(effects[:maxEffects], fmt.Sprintf("and %d more", len(effects)-maxEffects))
	}
	return effects
}

func countProcesses(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
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
