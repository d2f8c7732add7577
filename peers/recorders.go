package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// recorders lists what can stand between a client and the upstream, as far as
// it is installed.
func recorders(o options, up *upstream, work string) []subject {
	all := []subject{
		{name: "direct", note: "no proxy, TLS", direct: reach("", up.secure.URL)},
		self("goproxy", "MITM, ECDSA CA and store; keeps nothing", up.secure.URL, work),
		self("goproxy-tee", "the same, bodies copied in memory", up.secure.URL, work),
		self("goproxy-write", "the same, what the recorder writes is appended to a file before a reply ends",
			up.secure.URL, work),
		ours(o, up, work),
		self("go-vcr-v2", "in a reverse proxy, plain HTTP to the client", up.secure.URL, work),
		self("go-vcr-v4", "in a reverse proxy, plain HTTP to the client", up.secure.URL, work),
	}
	all = append(all, mitmproxy(up, work)...)
	if o.tools != "" {
		all = append(all, fromNPM(o, up, work)...)
	}
	return all
}

// self is a peer that is a Go library: this program serves it.
func self(name, note, upstream, work string) subject {
	return subject{name: name, note: note, command: func(port int) (*exec.Cmd, way, error) {
		exe, err := os.Executable()
		if err != nil {
			return nil, way{}, err
		}
		dir, err := os.MkdirTemp(work, name+"-*")
		if err != nil {
			return nil, way{}, err
		}
		cmd := exec.Command(exe, "-serve", name+"@"+strconv.Itoa(port), "-upstream", upstream, "-data", dir)
		if strings.HasPrefix(name, "goproxy") {
			return cmd, reach(local(port), upstream), nil
		}
		return cmd, reach("", local(port)), nil
	}}
}

// ours is the recorder as its users run it: redaction, gate and disk included.
func ours(o options, up *upstream, work string) subject {
	return subject{name: "recorder", note: "MITM; saves, redacts and checks",
		command: func(port int) (*exec.Cmd, way, error) {
			trust := filepath.Join(work, "upstream.pem")
			if err := os.WriteFile(trust, up.cert, 0o600); err != nil {
				return nil, way{}, err
			}
			dir, err := os.MkdirTemp(work, "recorder-*")
			if err != nil {
				return nil, way{}, err
			}
			cmd := exec.Command(o.recorder, "record", "--cassette", filepath.Join(dir, "x.yaml"),
				"--listen", "127.0.0.1:"+strconv.Itoa(port), "--upstream", "anthropic="+up.secure.URL,
				"--upstream-ca", trust)
			cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
			return cmd, reach(local(port), "https://api.anthropic.com"), nil
		}}
}

// mitmproxy twice: as it comes, and told to stream, which makes it forget the
// bodies.
func mitmproxy(up *upstream, work string) []subject {
	path, err := exec.LookPath("mitmdump")
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers: mitmproxy: not installed, left out; apt-get install mitmproxy")
		return nil
	}
	start := func(extra ...string) func(int) (*exec.Cmd, way, error) {
		return func(port int) (*exec.Cmd, way, error) {
			dir, err := os.MkdirTemp(work, "mitmproxy-*")
			if err != nil {
				return nil, way{}, err
			}
			args := append([]string{"-q", "--set", "confdir=" + dir, "--set", "http2=false", "--ssl-insecure",
				"--listen-host", "127.0.0.1", "-p", strconv.Itoa(port), "-w", filepath.Join(dir, "flows")}, extra...)
			return exec.Command(path, args...), reach(local(port), up.secure.URL), nil
		}
	}
	return []subject{
		{name: "mitmproxy", note: "MITM, -w; holds replies back", command: start()},
		{name: "mitmproxy-stream", note: "MITM, streaming; records no bodies",
			command: start("--set", "stream_large_bodies=1")},
	}
}

//go:embed polly.cjs
var polly []byte

// fromNPM are the peers that come from npm.
func fromNPM(o options, up *upstream, work string) []subject {
	modules := filepath.Join(o.tools, "node_modules")
	jar, _ := filepath.Glob(filepath.Join(modules, "wiremock", "build", "wiremock-standalone-*.jar"))
	return append([]subject{
		{name: "aimock", note: "plain HTTP on both sides, fixtures", command: func(port int) (*exec.Cmd, way, error) {
			dir, err := os.MkdirTemp(work, "aimock-*")
			if err != nil {
				return nil, way{}, err
			}
			return exec.Command("node", filepath.Join(modules, ".bin", "llmock"), "-p", strconv.Itoa(port), "-f", dir,
					"--record",
					"--provider-anthropic", up.plain.URL, "--log-level", "silent", "--journal-max", "10"),
				reach("", local(port)), nil
		}},
		{name: "polly", note: "in a Node server, plain HTTP on both sides",
			command: func(port int) (*exec.Cmd, way, error) {
				script := filepath.Join(o.tools, "polly.cjs")
				if err := os.WriteFile(script, polly, 0o600); err != nil {
					return nil, way{}, err
				}
				dir, err := os.MkdirTemp(work, "polly-*")
				if err != nil {
					return nil, way{}, err
				}
				return exec.Command("node", script, strconv.Itoa(port), up.plain.URL, dir), reach("", local(port)), nil
			}},
	}, wiremock(jar, up, work)...)
}

func wiremock(jar []string, up *upstream, work string) []subject {
	java, err := exec.LookPath("java")
	if err != nil || len(jar) == 0 {
		fmt.Fprintln(os.Stderr, "peers: wiremock: not installed, left out; it needs java and npm i wiremock")
		return nil
	}
	return []subject{{name: "wiremock", note: "plain HTTP on both sides",
		command: func(port int) (*exec.Cmd, way, error) {
			dir, err := os.MkdirTemp(work, "wiremock-*")
			if err != nil {
				return nil, way{}, err
			}
			return exec.Command(java, "-jar", jar[0], "--port", strconv.Itoa(port), "--proxy-all", up.plain.URL,
					"--record-mappings", "--root-dir", dir, "--disable-banner", "--container-threads", "400"),
				reach("", local(port)), nil
		}}}
}
