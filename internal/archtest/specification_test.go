package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// namedFolder is a folder in backticks, namedTest a test after it.
	namedFolder = regexp.MustCompile("`((?:meerkat|internal|simulator|conform|proxy|peers)[a-z0-9_/]*)`|\\b(Test[A-Z]\\w*)\\b")
	namedScript = regexp.MustCompile("`([a-z]+\\.txtar)`")
)

// TestSpecificationNamesTests holds that every test and script that the table of the
// specification names exists.
func TestSpecificationNamesTests(t *testing.T) {
	functions := map[string]string{}
	seen := 0
	for line := range strings.Lines(read(t, specification)) {
		folder := ""
		for _, m := range namedFolder.FindAllStringSubmatch(line, -1) {
			if m[1] != "" {
				folder = m[1]
				continue
			}
			if _, loaded := functions[folder]; !loaded {
				functions[folder] = testSources(t, folder)
			}
			seen++
			if !strings.Contains(functions[folder], "func "+m[2]+"(") {
				t.Errorf("%s: %q has no test %s", specification, folder, m[2])
			}
		}
		for _, m := range namedScript.FindAllStringSubmatch(line, -1) {
			seen++
			if _, err := os.Stat(filepath.Join(root, "internal/app/rkat/testdata/script", m[1])); err != nil {
				t.Errorf("%s: %v", specification, err)
			}
		}
	}
	if seen < 100 {
		t.Errorf("%s names %d tests; the expressions of this test no longer find them", specification, seen)
	}
}

// testSources returns the test files of a folder as one text.
func testSources(t *testing.T, folder string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text += string(content)
	}
	return text
}
