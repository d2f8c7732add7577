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
	namedFolder = regexp.MustCompile("`((?:meerkat|internal|simulator|wires|conform|proxy|peers)[a-z0-9_/]*)`|\\b(Test[A-Z]\\w*)\\b")
	namedScript = regexp.MustCompile("`([a-z]+\\.txtar)`")
)

// namingTests are the documents whose claims name tests, with the least number of those.
var namingTests = map[string]int{specification: 100, "docs/threat-model.md": 80}

// TestDocumentsNameTests holds that every test and script that a document names exists.
func TestDocumentsNameTests(t *testing.T) {
	for document, least := range namingTests {
		if seen := checkNamedTests(t, document); seen < least {
			t.Errorf("%s names %d tests; the expressions of this test no longer find them", document, seen)
		}
	}
}

// checkNamedTests returns how many tests and scripts a document names.
func checkNamedTests(t *testing.T, document string) (seen int) {
	t.Helper()
	functions := map[string]string{}
	for line := range strings.Lines(read(t, document)) {
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
				t.Errorf("%s: %q has no test %s", document, folder, m[2])
			}
		}
		for _, m := range namedScript.FindAllStringSubmatch(line, -1) {
			seen++
			if _, err := os.Stat(filepath.Join(root, "internal/app/rkat/testdata/script", m[1])); err != nil {
				t.Errorf("%s: %v", document, err)
			}
		}
	}
	return seen
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
