package cassette

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lacking writes a cassette to which so many interactions were lost.
func lacking(t *testing.T, lost int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, testMeta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range w.AppendAll(samples()[:2]) {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.Lose(Loss{Lost: lost})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func lastLine(t *testing.T, path string) string {
	t.Helper()
	lines := strings.SplitAfter(readText(t, path), "\n")
	return lines[len(lines)-2]
}

func opened(t *testing.T, path string) *Cassette {
	t.Helper()
	c, err := Open(path)
	if err == nil {
		err = c.Verify()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What was lost stands in the closing line, under its hash, and is in no line of
// a recording that lacks nothing.
func TestLostIsInTheClosingLine(t *testing.T) {
	for lost, want := range map[int]string{0: "# closed 2 ", 1: "# closed 2 lost 1 ", 12: "# closed 2 lost 12 "} {
		path := lacking(t, lost)
		c := opened(t, path)
		if line := lastLine(t, path); len(line) != len(want)+65 || !strings.HasPrefix(line, want) {
			t.Errorf("lost %d: %s", lost, line)
		}
		if c.Loss().Lost != lost || c.Loss().Recovered || (c.Loss().String() == "") != (lost == 0) ||
			!strings.Contains(c.Digest(), strings.TrimSpace(lastLine(t, path)[len(want):])) {
			t.Errorf("lost %d: read as %d, %q", lost, c.Loss().Lost, c.Loss().String())
		}
	}
}

// Nobody takes the mark out, or another number in, without being noticed.
func TestLostIsSealed(t *testing.T) {
	good := readText(t, lacking(t, 3))
	for _, now := range []string{"", " lost 2", " lost 0", " lost 03", " lost -3", " lost", " lost 3 lost 3",
		" lost 3 recovered", " recovered", " recovered lost 3", " found 3", " lost 3 "} {
		if _, err := Parse("x.yaml", []byte(strings.Replace(good, " lost 3", now, 1))); !errors.Is(err, ErrDamaged) &&
			!errors.Is(err, ErrTorn) {
			t.Errorf("%q: %v", now, err)
		}
	}
}

// To extend a cassette does not find what it lost.
func TestExtendKeepsWhatWasLost(t *testing.T) {
	path := lacking(t, 2)
	w := extend(t, path, samples()[2])
	w.Lose(Loss{Lost: 1})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if c := opened(t, path); c.Loss().Lost != 3 || c.Len() != 3 {
		t.Errorf("%d interactions, %d lost", c.Len(), c.Loss().Lost)
	}
}

// What Revise leaves out is lost.
func TestLeftOutIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, testMeta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.AppendAll(samples()[:3])
	seen := 0
	w.Revise(func() (func(Interaction) (Interaction, error), int) {
		return func(in Interaction) (Interaction, error) {
			if seen++; seen == 2 {
				return in, errors.New("a secret")
			}
			return in, nil
		}, 3
	})
	if err := w.Close(); err == nil {
		t.Error("nothing was left out")
	}
	if c := opened(t, path); c.Loss().Lost != 1 || c.Len() != 2 {
		t.Errorf("%d interactions, %d lost", c.Len(), c.Loss().Lost)
	}
}

// recovered returns a cassette of three interactions that was interrupted, and
// had lost two before.
func recovered(t *testing.T) string {
	t.Helper()
	path := lacking(t, 2)
	w := extend(t, path, samples()[2])
	if err := w.file.Close(); err != nil { // as a crash does
		t.Fatal(err)
	}
	if kept, err := Recover(path); err != nil || kept != 3 {
		t.Fatal(kept, err)
	}
	return path
}

// A recovered recording says that it is one, and what it extended had lost.
func TestRecoveredIsMarked(t *testing.T) {
	path := recovered(t)
	c := opened(t, path)
	if want := fmt.Sprintf("# closed %d lost %d recovered ", 3, 2); !strings.HasPrefix(lastLine(t, path), want) ||
		c.Loss().Lost != 2 || !c.Loss().Recovered {
		t.Errorf("%s", lastLine(t, path))
	}
	if got := c.Loss().String(); !strings.Contains(got, "2 interactions were lost") ||
		!strings.Contains(got, "interrupted") {
		t.Errorf("%q", got)
	}
	before := readText(t, path)
	if _, err := Recover(path); err != nil || readText(t, path) != before {
		t.Errorf("recovered again: %v", err)
	}
	if _, err := os.Lstat(partialPath(path)); err == nil {
		t.Error("the unfinished file is still there")
	}
}
