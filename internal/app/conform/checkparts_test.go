package conform

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/meerkat-go/conformance/conform/report"
)

// linkRecordings makes a folder with count recordings, which are all the same.
func linkRecordings(t *testing.T, count int) string {
	t.Helper()
	dir := t.TempDir()
	source, err := os.ReadFile("../../../docs/examples/trimmed-signature.har")
	for i := 0; i < count && err == nil; i++ {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d.har", i)), source, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A check goes on with its journal wherever a kill cut the journal off.
func TestCheckJournalCutAnywhere(t *testing.T) {
	dir, journal := linkRecordings(t, 3), filepath.Join(t.TempDir(), "j")
	check := func() string {
		var out, errs bytes.Buffer
		if exit := Run(t.Context(), []string{"check", dir, "-q", "--journal", journal}, nil, &out, &errs, nil); exit != report.ExitFailure || errs.Len() > 0 {
			t.Fatalf("exit %d: %s", exit, errs.String())
		}
		return out.String()
	}
	whole := check()
	data, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	header := bytes.IndexByte(data, '\n') + 1
	for _, cut := range []int{0, 5, header - 1, header, header + 1, (header + len(data)) / 2, len(data) - 14,
		len(data) - 1} {
		if err := os.WriteFile(journal, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := check(); got != whole {
			t.Errorf("cut at byte %d of %d: got\n%s\nwant\n%s", cut, len(data), got, whole)
		}
	}
}

// liveAtEnd measures what is live when a report is written.
type liveAtEnd struct {
	bytes.Buffer
	live uint64
}

func (l *liveAtEnd) Write(data []byte) (int, error) {
	if l.live == 0 {
		var m runtime.MemStats
		for range 3 { // what pools keep goes with the second one
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		l.live = m.HeapAlloc
	}
	return l.Buffer.Write(data)
}

// What a check keeps does not grow with the recordings but for their names.
func TestCheckMemory(t *testing.T) {
	const few, many, bytesEach = 40, 400, 5000 // the results of one recording have 27,000
	live := map[int]uint64{}
	for _, count := range []int{few, many} {
		dir := linkRecordings(t, count)
		var out liveAtEnd
		args := []string{"check", dir, "--journal", filepath.Join(t.TempDir(), "j"), "--report",
			"json=" + filepath.Join(t.TempDir(), "r.json")}
		if exit := Run(t.Context(), args, nil, &out, os.Stderr, nil); exit != report.ExitFailure {
			t.Fatalf("exit %d", exit)
		}
		live[count] = out.live
	}
	if grown := int64(live[many]) - int64(live[few]); grown > (many-few)*bytesEach {
		t.Errorf("%d recordings keep %d bytes more than %d", many, grown, few)
	}
}
