package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// divergenceHeading is how docs/divergences.md introduces an entry: "### D1: title".
var divergenceHeading = regexp.MustCompile(`(?m)^#+ (D[0-9]+): `)

// readDivergences returns the ids that docs/divergences.md defines.
func readDivergences() (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(root(), "docs", "divergences.md"))
	if err != nil {
		return nil, fmt.Errorf("divergences: %w", err)
	}
	ids := map[string]bool{}
	for _, m := range divergenceHeading.FindAllSubmatch(text, -1) {
		id := string(m[1])
		if ids[id] {
			return nil, fmt.Errorf("docs/divergences.md defines %s twice", id)
		}
		ids[id] = true
	}
	return ids, nil
}
