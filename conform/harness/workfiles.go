package harness

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"

	"github.com/meerkat-go/conformance/specs"
)

// promptImage is the name of the image that goes with prompts, in the folder in which the
// agent starts.
const promptImage = "red.png"

// answerSchema is the name of the schema that answers must fulfil, in the same folder.
const answerSchema = "answer.schema.json"

// writeAnswerSchema writes the schema of an answer with one word where the scenario needs it.
func writeAnswerSchema(s *specs.Scenario, dir string) error {
	if !slices.Contains(s.Needs(), specs.AbilityOutputSchema) {
		return nil
	}
	schema := `{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`
	return os.WriteFile(filepath.Join(dir, answerSchema), []byte(schema), 0o600)
}

// writePromptImage writes a red square where a step of the scenario needs it.
func writePromptImage(s *specs.Scenario, dir string) error {
	if !slices.ContainsFunc(s.Steps, func(step specs.Step) bool { return step.Image }) {
		return nil
	}
	square := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range square.Rect.Dx() * square.Rect.Dy() {
		square.Set(i%square.Rect.Dx(), i/square.Rect.Dx(), color.RGBA{R: 0xff, A: 0xff})
	}
	var data bytes.Buffer
	if err := png.Encode(&data, square); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, promptImage), data.Bytes(), 0o600)
}
