package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// maxTexts bounds a list of texts; no provider takes as many stop sequences.
const maxTexts = 64

// readTexts reads a list of texts that may hold any character. A single text is a
// list of one; a variable that begins with [ is a list in JSON.
func readTexts(v any) (any, error) {
	var list []string
	switch v := v.(type) {
	case []string:
		list = v
	case string:
		list = []string{v}
		if strings.HasPrefix(v, "[") {
			list = nil
			if json.Unmarshal([]byte(v), &list) != nil {
				return nil, errors.New("what begins with [ must be a JSON list of texts, such as [\"END\"]")
			}
		}
	default:
		read, err := readList(v)
		if err != nil {
			return nil, err
		}
		list, _ = read.([]string)
	}
	if len(list) > maxTexts {
		return nil, fmt.Errorf("%d texts are more than the %d allowed", len(list), maxTexts)
	}
	if slices.Contains(list, "") {
		return nil, errors.New("an empty text is not allowed in the list")
	}
	return list, nil
}

// readMetadata reads names and values: a table, NAME=VALUE of flags, and in a
// variable NAME=VALUE with commas between or a JSON object of texts.
func readMetadata(v any) (any, error) {
	values := map[string]string{}
	var err error
	switch v := v.(type) {
	case map[string]string:
		values = v
	case map[string]any:
		err = copyTexts(values, v)
	case []string:
		err = parsePairs(values, v)
	case string:
		if strings.HasPrefix(strings.TrimSpace(v), "{") {
			if json.Unmarshal([]byte(v), &values) != nil {
				err = errors.New("what begins with { must be a JSON object of texts")
			}
			break
		}
		err = parsePairs(values, strings.Split(v, ","))
	default:
		err = fmt.Errorf("%v is not a table of texts", v)
	}
	if err == nil {
		err = session.CheckMetadata(values)
	}
	return values, err
}

func copyTexts(to map[string]string, table map[string]any) error {
	for _, name := range sortedKeys(table) {
		text, ok := table[name].(string)
		if !ok {
			return fmt.Errorf("%s is not a text; put it in quotes", name)
		}
		to[name] = text
	}
	return nil
}

func parsePairs(to map[string]string, pairs []string) error {
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%q is not of the form NAME=VALUE", pair)
		}
		to[strings.TrimSpace(name)] = value
	}
	return nil
}
