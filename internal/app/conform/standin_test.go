package conform

import (
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meerkat-go/conformance/internal/standin"
)

// standInKey is the key of the scripts that ask a stand-in. No family of keys has its
// form, so it is known by its value alone.
const standInKey = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"

// running are the stand-ins of scripts, by their working folders.
var running = map[string]*standin.Server{}

// startStandIn starts a stand-in for all providers, or changes the one that runs:
// standin limited=2 idle=1 echo split. It sets STANDIN and the variables of the keys,
// and writes ca.pem.
func startStandIn(ts *testscript.TestScript, _ bool, args []string) {
	var m standin.Manners
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(value)
		switch {
		case name == "echo":
			m.EchoesKey = true
		case name == "split":
			m.SplitsSignatures = true
		case err != nil:
			ts.Fatalf("standin: unknown manner %q", arg)
		case name == "limited":
			m.Limited = n
		case name == "overloaded":
			m.Overloaded = n
		case name == "idle":
			m.Idle = n
		}
	}
	dir := ts.MkAbs(".")
	if server := running[dir]; server != nil {
		server.Change(m)
		return
	}
	server := standin.Start(m)
	running[dir] = server
	ts.Defer(func() { delete(running, dir); server.Close() })
	ts.Setenv("STANDIN", server.URL)
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"} {
		ts.Setenv(name, standInKey)
	}
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), server.CA, 0o600))
}

// searchForKeys fails when the last output, or a file below the working folder, holds
// the key in any spelling.
func searchForKeys(ts *testscript.TestScript, _ bool, _ []string) {
	search := func(name, text string) {
		for _, s := range keySpellings() {
			if strings.Contains(text, s) {
				ts.Fatalf("%s holds the key", name)
			}
		}
	}
	search("stdout", ts.ReadFile("stdout"))
	search("stderr", ts.ReadFile("stderr"))
	searched := 0
	ts.Check(filepath.WalkDir(ts.MkAbs("."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		searched++
		data, err := os.ReadFile(path)
		search(path, string(data))
		return err
	}))
	ts.Logf("searched %d files", searched)
}

// keySpellings are the forms in which the key could be written down. Its base64 is cut
// where it depends on what stands around it.
func keySpellings() []string {
	list := []string{standInKey, strings.ToUpper(standInKey), hex.EncodeToString([]byte(standInKey))}
	for shift := range 3 {
		list = append(list, base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + standInKey))[4:40])
	}
	return list
}
