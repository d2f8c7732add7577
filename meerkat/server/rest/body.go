package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxTokens bounds the names, values and brackets of a body. The largest request that can
// be valid has fewer than 400.
const maxTokens = 4096

// newFormats returns the formats of bodies. A client whose JSON means one thing to this
// server and another one elsewhere is told so: a name that comes twice or in another
// case, a text that is not UTF-8, half of a surrogate pair. Nothing of it is mended.
func newFormats() map[string]huma.Format {
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: decodeBody}
	return map[string]huma.Format{"application/json": format, "json": format}
}

// decodeBody reads a body into a value.
func decodeBody(body []byte, value any) error {
	err := countTokens(body)
	if err == nil {
		err = json.Unmarshal(body, value, json.RejectUnknownMembers(true))
	}
	if err == nil {
		return nil
	}
	if syntax := (*jsontext.SyntacticError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("%.200s%w at byte %d", placeOf(syntax.JSONPointer), syntax.Err, syntax.ByteOffset)
	}
	if semantic := (*json.SemanticError)(nil); errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName) {
		return fmt.Errorf("%.200s%w", placeOf(semantic.JSONPointer), semantic.Err)
	}
	return err
}

// placeOf puts a JSON pointer before a message, nothing for the whole document.
func placeOf(p jsontext.Pointer) string {
	if p == "" {
		return ""
	}
	return string(p) + ": "
}

// countTokens reports a body of too many tokens, or one that is not JSON, before anything
// is made of it.
func countTokens(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	for range maxTokens {
		if _, err := d.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return fmt.Errorf("it has more than %d names and values", maxTokens)
}
