package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const pitfalls = "docs/pitfalls.md"

// TestPitfallsAreHeld holds that each pitfall of the libraries we use has a row,
// and that the tests a row names are in one of the packages it names.
func TestPitfallsAreHeld(t *testing.T) {
	rows := map[string]bool{}
	for line := range strings.Lines(read(t, pitfalls)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.ContainsAny(cells[1], "0123456789") {
			continue
		}
		rows[strings.TrimSpace(cells[1])] = true
		for _, name := range fields(cells[2]) {
			if !testIn(t, name, fields(cells[3])) {
				t.Errorf("%s: %s is in none of %s", strings.TrimSpace(cells[1]), name, cells[3])
			}
		}
	}
	for kind, n := range map[string]int{"G": 19, "V": 15} {
		for i := 1; i <= n; i++ {
			if id := fmt.Sprint(kind, i); !rows[id] {
				t.Errorf("%s has no row for %s", pitfalls, id)
			}
		}
	}
}

// fields are the entries of a list with commas.
func fields(list string) (out []string) {
	for _, f := range strings.Split(list, ",") {
		out = append(out, strings.TrimSpace(f))
	}
	return out
}

func testIn(t *testing.T, name string, dirs []string) bool {
	t.Helper()
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil && strings.Contains(string(text), "\nfunc "+name+"(") {
				return true
			}
		}
	}
	return false
}
