package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/meerkat-go/conformance/proxy"
)

// A client that takes a base URL needs no certificate. The handler sees the
// provider's URL, as it would for a client that uses HTTPS_PROXY.
func ExampleNew() {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintln(w, "asked for", r.URL)
	})
	p, err := proxy.New(proxy.Config{Ingress: []string{proxy.BaseURL}, Handler: handler})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := p.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = p.Close(context.Background()) }()

	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(p.URLFor(proxy.BaseURL, "") + "/anthropic/v1/models")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	fmt.Print(string(body))
	// Output: asked for https://api.anthropic.com/v1/models
}
