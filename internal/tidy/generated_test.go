package tidy

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jackdaw/config"
	"jackdaw/protocol"
)

var update = flag.Bool("update", false, "write the generated documents instead of comparing them")

// The documents that are made from the code are in the tree, so that they can be read without building anything.
// `make generate` writes them.
func TestGenerated_Documents_AreUpToDate(t *testing.T) {
	for path, text := range map[string]string{
		"docs/config.md":       configDoc(),
		"docs/compat.md":       compatDoc(t),
		"docs/architecture.md": architectureDoc(t),
	} {
		path = filepath.Join(root, path)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s is out of date (%v): make generate", path, err)
		}
	}
}

const made = "<!-- Made by `make generate`. -->\n"

// configDoc is docs/config.md.
func configDoc() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n" + made + `
The keys of Apache Kafka 3.9's server.properties, with Kafka's types, defaults and ranges, and what becomes of them here.
"Effect" is *yes*, or why a setting is accepted and ignored; the broker names each ignored setting once when it starts.
"Change" tells whether a key can be changed in ZooKeeper: for *one* broker, for one or *all*, or not (*no*).

A setting is looked for in: the topic's own config, this broker's dynamic config, the dynamic config of all brokers,
--override, the environment (KAFKA_X_Y sets x.y; __ is _ and ___ is -), the file, the default.
`)
	for _, s := range config.Sections() {
		fmt.Fprintf(&b, "\n## %s\n\n| key | type | default | range | change | effect | what |\n|---|---|---|---|---|---|---|\n", s.Title)
		for _, k := range s.Keys {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", k.Name, strings.ToLower(k.Type.String()), defaultOf(k), k.Check.Range, change(k.Mode), effect(k.Use), k.Doc)
		}
	}
	b.WriteString("\n## Topics\n\nWithout an override a topic has the value of the first broker key that is set.\n\n" +
		"| key | type | default | range | broker keys | effect | what |\n|---|---|---|---|---|---|---|\n")
	for _, k := range config.TopicKeys() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", k.Name, strings.ToLower(k.Type.String()), defaultOf(k.Key), k.Check.Range,
			strings.Join(k.Synonyms, ", "), effect(k.Use), k.Doc)
	}
	return b.String()
}

func defaultOf(k config.Key) string {
	switch {
	case k.Default.Null:
		return "null"
	case k.Default.Text == "9223372036854775807" || k.Default.Text == "2147483647" || k.Default.Text == "1.7976931348623157E308":
		return "no bound"
	}
	return k.Default.Text
}

func change(m config.Mode) string {
	switch m {
	case config.PerBroker:
		return "one"
	case config.ClusterWide:
		return "all"
	case config.ReadOnly, config.Internal:
	}
	return "no"
}

func effect(u config.Use) string {
	if why := u.Reason(); why != "" {
		return why
	}
	return "yes"
}

// compatDoc is docs/compat.md: the table of APIs with what the header of each handler says.
func compatDoc(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# APIs\n\n" + made + `
What a client can ask for, in which versions, and where the answer differs from Apache Kafka 3.9 in ZooKeeper mode.
Versions below the first were dropped with their message formats or are not there yet. More in [differences](differences.md).

| key | API | versions | notes |
|---|---|---|---|
`)
	for _, a := range protocol.Table() {
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", a.Key, a.Name, strings.TrimPrefix(versions(a), "v"), strings.Join(header(t, a), " "))
	}
	return b.String()
}

// header returns the comment of an API's handler after its name and versions, without the parts that concern only
// developers.
func header(t *testing.T, a protocol.API) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "broker", fmt.Sprintf("%02d_%s.go", a.Key, snake(a.Name))))
	if err != nil {
		return nil // TestAPIs_EveryAPI_HasItsFile reports it
	}
	_, rest, found := strings.Cut("\n"+string(text), fmt.Sprintf("\n// %s (%d), %s. ", a.Name, a.Key, versions(a)))
	if !found {
		return nil
	}
	var out []string
	for i, l := range strings.Split(rest, "\n") {
		l, comment := strings.CutPrefix(l, "//")
		if i > 0 && !comment || strings.Contains(l, "Pipelined:") || strings.Contains(l, "Cost:") {
			break
		}
		out = append(out, strings.ReplaceAll(strings.TrimSpace(l), "|", `\|`))
	}
	return out
}

// architectureDoc is docs/architecture.md with the picture between its marks made anew.
func architectureDoc(t *testing.T) string {
	t.Helper()
	const begin, end = "<!-- rooms: made by `make generate` -->\n", "<!-- end of rooms -->\n"
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("docs/architecture.md: the marks %q and %q are gone", begin, end)
	}
	return before + begin + picture() + end + after
}

// picture draws the plan of the house. What everybody uses is left out, or nothing else could be seen.
func picture() string {
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TB\n")
	id := strings.NewReplacer("/", "_", "-", "_").Replace
	for level := 6; level >= 0; level-- {
		fmt.Fprintf(&b, "  subgraph level%d[level %d]\n", level, level)
		for _, r := range rooms {
			if r.level == level && !r.outside() {
				shape := "[%s]"
				if r.pure {
					shape = "([%s])"
				}
				fmt.Fprintf(&b, "    %s"+shape+"\n", id(r.name), r.name)
			}
		}
		b.WriteString("  end\n")
	}
	for _, r := range rooms {
		for _, to := range r.may {
			if o, _ := findRoom(to); o.level > 0 && !strings.HasPrefix(r.name, "internal/") {
				fmt.Fprintf(&b, "  %s --> %s\n", id(r.name), id(to))
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}
