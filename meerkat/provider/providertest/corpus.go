// Package providertest has what tests and benchmarks of the provider packages
// share: the recorded corpus and long streams made from it.
package providertest

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
)

// Exchange is one recorded request and its response.
type Exchange struct {
	// Name is "<case>/<NN>", unique within a provider.
	Name     string
	Provider string
	Method   string
	URL      string
	// Request is the body that was sent, nil when the source kept none.
	Request []byte
	Status  int
	Header  http.Header
	Body    []byte
}

// Streamed reports whether the reply is an event stream, or a JSON array of
// events as Gemini sends without alt=sse.
func (e *Exchange) Streamed() bool {
	s := strings.TrimSpace(string(e.Body[:min(len(e.Body), 64)]))
	return s != "" && s[0] != '{' || strings.Contains(e.URL, ":streamGenerateContent")
}

// Corpus returns every recorded exchange of one provider that has a response
// body, in a fixed order. It skips the test when the corpus is absent.
func Corpus(tb testing.TB, provider string) []Exchange {
	tb.Helper()
	out, err := loadCorpus(corpus.Dir(tb), provider)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func loadCorpus(dir, provider string) ([]Exchange, error) {
	files, err := filepath.Glob(filepath.Join(dir, "data", provider, "*", "*.response.json"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var out []Exchange
	for _, f := range files {
		e, err := readExchange(f, provider)
		if err != nil {
			return nil, err
		}
		if e != nil {
			out = append(out, *e)
		}
	}
	return out, nil
}

func readExchange(file, provider string) (*Exchange, error) {
	base := strings.TrimSuffix(file, ".response.json")
	body, err := os.ReadFile(base + ".response.body")
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var response struct {
		Status  int
		Headers http.Header
	}
	if err := readJSON(file, &response); err != nil {
		return nil, err
	}
	var request struct {
		Method, URL string
		Body        *string
	}
	if err := readJSON(base+".request.json", &request); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	e := &Exchange{
		Name: filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(base), Provider: provider,
		Method: request.Method, URL: request.URL, Status: response.Status, Header: response.Headers, Body: body,
	}
	if request.Body != nil {
		e.Request = []byte(*request.Body)
	}
	return e, nil
}

func readJSON(file string, v any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
