package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServe asks the command as a client would, and interrupts it.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ca := filepath.Join(t.TempDir(), "ca.pem")
	out, in := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- serve(ctx, []string{"-scenario", "parallel-calls", "-ca", ca, "-pace", "0"}, in, io.Discard)
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	r, err := http.NewRequest(http.MethodPost, strings.TrimSpace(url)+"/v1/responses", strings.NewReader(`{"model":"gpt-5.2","input":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer made-up")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !strings.Contains(string(body), "conform_echo") {
		t.Errorf("status %d %s; want the refusal that names the missing tool", resp.StatusCode, body)
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("code %d", code)
	}
}

func TestBadInput(t *testing.T) {
	for want, args := range map[string][]string{
		`scenario "x": unknown; one of cut-stream`: {"-scenario", "x", "-ca", "f"},
		"-ca: no file":           {},
		"not a loopback address": {"-ca", "f", "-listen", "0.0.0.0:0"},
		"flag provided but":      {"-what"},
	} {
		var said bytes.Buffer
		if code := serve(t.Context(), args, io.Discard, &said); code == 0 || !strings.Contains(said.String(), want) {
			t.Errorf("%q: code %d, %q", args, code, said.String())
		}
	}
}
