package gemini

import (
	"errors"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/stream"
)

// A stream that fails may be broken off with the bare error object, after
// events that even carried a finishReason (reference §3.3).
const bareErrorTail = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Half\"}]},\"finishReason\":\"STOP\",\"index\":0}]}\r\n\r\n" +
	"{\r\n  \"error\": {\r\n    \"code\": 499,\r\n    \"message\": \"The operation was cancelled.\",\r\n\r\n    \"status\": \"CANCELLED\"\r\n  }\r\n}\r\n"

func TestBareErrorBetweenEvents(t *testing.T) {
	for _, step := range []int{1, 2, 7, len(bareErrorTail)} {
		p := Codec{}.NewParser(stream.Options{})
		for i := 0; i < len(bareErrorTail); i += step {
			if _, err := p.Write([]byte(bareErrorTail[i:min(i+step, len(bareErrorTail))])); err != nil {
				break
			}
		}
		_, err := p.Close()
		var failure *stream.ProviderError
		if !errors.As(err, &failure) || failure.Message != "The operation was cancelled." {
			t.Errorf("pieces of %d: got %v, want the provider's error", step, err)
		}
	}
}

func TestBareErrorCutShort(t *testing.T) {
	p := Codec{}.NewParser(stream.Options{})
	if _, err := p.Write([]byte(bareErrorTail[:len(bareErrorTail)-20])); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Close(); err == nil {
		t.Error("half an error object was taken for a complete reply")
	}
}
