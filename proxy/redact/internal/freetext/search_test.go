package freetext

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// An escaped quotation mark does not end a value in quotes, nor does the code of a letter.
func TestEscapesInValues(t *testing.T) {
	for text, want := range map[string]string{
		`{"password":"Ember\"6Zr0A'n7sr","x":"y"}`:                   `Ember\"6Zr0A'n7sr`,
		`{"t":"{\"password\":\"Ember\\\"6Zr0A'n7sr\",\"x\":\"y\"}"}`: `Ember\\\"6Zr0A'n7sr`,
		`{"t":"password: K\u00e4sekuchenkdGI8!\nx"}`:                 `K\u00e4sekuchenkdGI8!`,
		`{"t":"password: \u00d6lt\u00fcr6Zr0A\nx"}`:                  `\u00d6lt\u00fcr6Zr0A`,
		`{"t":"password: \"abcd6Zr0A\" or \"other8Yq2\""}`:           `abcd6Zr0A`,
		`{"t":"the password: \u00dcberraschungsmen\u00fc\n"}`:        "",
	} {
		secrets, _ := Search([]byte(text))
		got := ""
		for _, s := range secrets {
			got += string(s.Value.In([]byte(text)))
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A URL inside another one is looked at up to the next: a text of nothing but beginnings of
// URLs is read twice at most. What each of them holds is found.
func TestAddressesInsideEachOther(t *testing.T) {
	text := []byte(strings.Repeat("http://", 3000))
	looked, read := 0, 0
	for i := range text {
		if bytes.HasPrefix(text[i:], []byte("://")) {
			address := addressAround(text, i, looked)
			looked, read = max(looked, address.End), read+address.End-i
		}
	}
	if looked != len(text) || read > 3*len(text) {
		t.Errorf("%d bytes read of %d, up to %d", read, len(text), looked)
	}
	password, token := "Ab3dEf9hIj"+"Kl5mNo7pQr", "Zy8xWv6uTs"+"Rq4pOn2mLk"
	text = []byte("see https://a.example/https://eve:" + password + "@b.example/x?next=https://c.example/y&api_key=" + token + " there")
	var found []string
	secrets, _ := Search(text)
	for _, s := range secrets {
		found = append(found, string(s.Value.In(text)))
	}
	if !slices.Contains(found, password) || !slices.Contains(found, token) {
		t.Errorf("found %q", found)
	}
}

// A sentence that ends with a colon shows the token in the next line that is not empty.
func TestTokenInNextLine(t *testing.T) {
	const token = "1//0p7l1oZVkRbEhWOjO3p26T1VrggWOipuS4WrBDB9eJ2nv"
	text := []byte("Use this token to login on a CI server:\n\n" + token + "\n\nExample: x")
	secrets, _ := Search(text)
	if len(secrets) != 1 || string(secrets[0].Value.In(text)) != token {
		t.Errorf("%v", secrets)
	}
}
