package webpage

import (
	"net/http"
	"testing"
)

func TestIsForeign(t *testing.T) {
	for _, tt := range []struct {
		host, site string
		origins    []string
		want       bool
	}{
		{"127.0.0.1:80", "", nil, false}, // a program
		{"127.0.0.1:80", "none", nil, false},
		{"127.0.0.1:80", "same-origin", nil, false},
		{"127.0.0.1:80", "same-origin", []string{"http://127.0.0.1:80"}, false},
		{"127.0.0.1:80", "", []string{"http://127.0.0.1:80"}, false},
		{"LOCALHOST:80", "", []string{"http://localhost:80"}, false},
		{"127.0.0.1:80", "cross-site", nil, true}, // an image of a page
		{"127.0.0.1:80", "same-site", nil, true},  // of another port
		{"127.0.0.1:80", "cross-site", []string{"http://127.0.0.1:80"}, true},
		{"127.0.0.1:80", "", []string{"http://127.0.0.1:3000"}, true},
		{"127.0.0.1:80", "", []string{"https://site.example"}, true},
		{"127.0.0.1:80", "", []string{"null"}, true},
		{"127.0.0.1:80", "", []string{""}, true},
		{"127.0.0.1:80", "", []string{"http://%"}, true},
		{"127.0.0.1:80", "", []string{"http://127.0.0.1:80", "https://site.example"}, true},
	} {
		r := &http.Request{Host: tt.host, Header: http.Header{"Origin": tt.origins}}
		if tt.origins == nil {
			delete(r.Header, "Origin")
		}
		if tt.site != "" {
			r.Header.Set("Sec-Fetch-Site", tt.site)
		}
		if got := IsForeign(r); got != tt.want {
			t.Errorf("host %s, site %q, origins %q: foreign %t, want %t", tt.host, tt.site, tt.origins, got, tt.want)
		}
	}
}
