package conform

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"

	"github.com/meerkat-go/conformance/internal/standin"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/rogpeppe/go-internal/testscript"
)

// toyGateway is a small gateway for scripts: toy-gateway PORT UPSTREAM KEY [FAULT].
func toyGateway() {
	port, upstream, key, fault := os.Args[1], os.Args[2], os.Args[3], strings.Join(os.Args[4:], " ")
	switch fault {
	case "crash":
		fmt.Fprintln(os.Stderr, "no licence found\x1b[31m")
		os.Exit(7)
	case "deaf":
		select {}
	}
	target, err := url.Parse(upstream)
	if err != nil {
		panic(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Set("X-Api-Key", key)
		switch fault {
		case "no betas":
			r.Out.Header.Del("Anthropic-Beta")
		case "leak":
			r.Out.Header.Set("Authorization", "Bearer "+r.In.Header.Get("X-Api-Key"))
		}
	}, ModifyResponse: func(r *http.Response) error {
		if fault == "no waits" {
			r.Header.Del("Retry-After")
		}
		return nil
	}}
	handler := standin.ReadFirst(proxy)
	if fault == "dies" {
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.Header.Get("Anthropic-Beta"), "conform-probe") {
				fmt.Fprintln(os.Stderr, "out of luck\x1b[31m")
				os.Exit(9)
			}
			standin.ReadFirst(proxy).ServeHTTP(w, r)
		})
	}
	if fault == "closed" {
		handler = http.NotFoundHandler()
	}
	panic(http.ListenAndServe("127.0.0.1:"+port, handler)) //nolint:gosec // ends with the test
}

// startSimulator starts a simulator for a script, and sets SIMULATOR to its URL.
func startSimulator(ts *testscript.TestScript, _ bool, _ []string) {
	server, err := simulator.Open(simulator.ListenConfig{Plain: true}, simulator.New(simulator.Config{Seed: "1"}))
	ts.Check(err)
	ts.Defer(server.Close)
	ts.Setenv("SIMULATOR", server.URL)
}
