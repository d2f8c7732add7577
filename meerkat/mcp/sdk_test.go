package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/mcp"
)

type sum struct {
	A int `json:"a" jsonschema:"the first number"`
	B int `json:"b" jsonschema:"the second number"`
}

type total struct {
	Total int `json:"total"`
}

// sdkServer is a server made with the official SDK.
func sdkServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "2"}, &sdk.ServerOptions{Instructions: "add"})
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: "adds", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, in sum) (*sdk.CallToolResult, total, error) {
			return nil, total{in.A + in.B}, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "fail", Annotations: &sdk.ToolAnnotations{IdempotentHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return nil, nil, errors.New("no luck")
		})
	s.AddTool(&sdk.Tool{Name: "more", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			s.RemoveTools("fail")
			s.AddTool(&sdk.Tool{Name: "extra", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "more"}}}, nil
		})
	return s
}

// useSDK holds a server of the official SDK to what both transports owe us.
func useSDK(t *testing.T, r *mcp.Router) {
	t.Helper()
	if got := strings.Join(names(r.Defs()), " "); got != "s__add s__fail s__more" {
		t.Fatal(got)
	}
	wantText(t, call(r, "s__add", `{"a":2,"b":40}`), false, `{"total":42}`)
	wantText(t, call(r, "s__add", `{"a":2}`), true, "not executed", "b is required")
	wantText(t, call(r, "s__fail", `{}`), true, "no luck")
	if a, f := r.Traits("s__add"), r.Traits("s__fail"); !a.ReadOnly || !a.Idempotent || f.ReadOnly || !f.Idempotent {
		t.Errorf("%+v %+v", a, f)
	}
	if i := r.Servers()[0]; i.Name != "sdk" || i.Version != "2" || i.Instructions != "add" {
		t.Errorf("%+v", i)
	}
	wantText(t, call(r, "s__more", `{}`), false, "more")
	until(t, func() bool {
		c := r.Changes(t.Context())
		if len(c) == 1 && (strings.Join(names(c[0].Added), " ") != "s__extra" ||
			strings.Join(c[0].Removed, " ") != "s__fail") {
			t.Errorf("%+v", c)
		}
		return len(c) == 1
	})
	wantText(t, call(r, "s__fail", `{}`), true, "no longer offers")
}

func TestSDKOverStdio(t *testing.T) { useSDK(t, open(t, quick, hostile("s", "sdk"))) }

func TestSDKOverHTTP(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		s := sdkServer()
		var denied atomic.Int32
		front := guarded(
			sdk.NewStreamableHTTPHandler(
				func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{JSONResponse: asJSON},
			),
			&denied,
		)
		web := httptest.NewServer(front)
		client := web.Client()
		config := mcp.Server{
			Name: "s", URL: web.URL, Headers: map[string]string{"Authorization": "Bearer canary-token"},
		}
		o := quick
		o.HTTPClient = client
		r, err := mcp.Open(t.Context(), []mcp.Server{config}, o)
		if err != nil {
			t.Fatal(err)
		}
		useSDK(t, r)
		r.Close()
		if denied.Load() != 0 {
			t.Error("requests without our header")
		}
		config.Headers = nil
		const want = "mcp server s: it refuses access (HTTP 401); check its headers"
		if _, err := mcp.Open(t.Context(), []mcp.Server{config}, o); err == nil || err.Error() != want {
			t.Error(err)
		}
		client.CloseIdleConnections()
		web.CloseClientConnections()
		web.Close()
	}
}

func guarded(h http.Handler, denied *atomic.Int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer canary-token" {
			denied.Add(1)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// TestHeadersStayAtHome: a redirect to another host is not followed.
func TestHeadersStayAtHome(t *testing.T) {
	var leaked atomic.Value
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked.Store(r.Header.Get("X-Key"))
		http.Error(w, "no", http.StatusTeapot)
	}))
	defer other.Close()
	web := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer web.Close()
	_, err := mcp.Open(
		t.Context(), []mcp.Server{{Name: "s", URL: web.URL, Headers: map[string]string{"X-Key": "canary"}}}, quick,
	)
	if err == nil || !strings.Contains(err.Error(), "redirects to") || leaked.Load() != nil {
		t.Errorf("%v; the other host saw %q", err, leaked.Load())
	}
}

func big(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", 1<<20)}}}, nil
}
