//go:build compat

package compat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"jackdaw/compat-tests/cluster"
)

// suitePackage is the client whose own tests are run. Those of its pkg/kadm need no broker.
const suitePackage = "github.com/twmb/franz-go/pkg/kgo"

// TestSuite_FranzGo_PassesWhatApachePasses runs franz-go's own tests (groups, transactions and exactly-once chains of half a
// dozen consumers each, joining and leaving at random) against both brokers: `make clients-suite`. SUITE_RECORDS is how many
// records go through each chain; franz-go's own CI takes 500000.
func TestSuite_FranzGo_PassesWhatApachePasses(t *testing.T) {
	if os.Getenv("JACKDAW_SUITES") == "" {
		t.Skip("several minutes: make clients-suite")
	}
	jackdawOnly(t, "it runs both")
	suite := filepath.Join(t.TempDir(), "suite.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", suite, suitePackage).CombinedOutput(); err != nil {
		t.Fatalf("build of the suite: %v\n%s", err, out)
	}
	source, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", suitePackage).Output()
	if err != nil {
		t.Fatalf("directory of the suite: %v", err)
	}
	results := map[cluster.Kind]suiteResult{}
	for _, kind := range []cluster.Kind{cluster.Apache, cluster.Jackdaw} {
		results[kind] = runSuite(t, suite, strings.TrimSpace(string(source)), kind)
		t.Logf("%s: %v", kind, results[kind])
	}
	apache, jackdaw := results[cluster.Apache], results[cluster.Jackdaw]
	all := maps.Clone(jackdaw.outcome)
	maps.Copy(all, apache.outcome)
	rank := map[string]int{"PASS": 2, "SKIP": 1, "": 1, "FAIL": 0, "RUN": 0}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, j := apache.outcome[name], jackdaw.outcome[name]
		t.Logf("%-60s apache %-5s jackdaw %s", name, a, j)
		if rank[j] < rank[a] {
			t.Errorf("%s: %q, of Apache Kafka %q\n%s", name, j, a, jackdaw.about(name))
		}
	}
}

// suiteResult is the outcome of each test (PASS, FAIL, SKIP, or RUN if it never ended) of one run.
type suiteResult struct {
	outcome map[string]string
	took    time.Duration
	output  string // file
}

func (r suiteResult) String() string {
	count := map[string]int{}
	for _, o := range r.outcome {
		count[o]++
	}
	return fmt.Sprintf("%v in %v", count, r.took.Round(time.Second))
}

// about returns what the suite printed of one test, or its end when the whole run broke off.
func (r suiteResult) about(name string) string {
	text, err := os.ReadFile(r.output)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(text), "\n")
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "--- FAIL: "+name+" ") }); i >= 0 {
		return strings.Join(lines[i:min(len(lines), i+40)], "\n")
	}
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}

// runSuite runs the suite on a fresh cluster of three.
func runSuite(t *testing.T, suite, source string, kind cluster.Kind) suiteResult {
	t.Helper()
	kinds := map[int]cluster.Kind{1: kind, 2: kind, 3: kind}
	c := cluster.Start(t, cluster.Options{Brokers: 3, Kinds: kinds, Config: map[string]string{
		"zookeeper.session.timeout.ms": "18000", "transaction.state.log.min.isr": "2",
	}})
	output := filepath.Join(t.TempDir(), string(kind)+".txt")
	out, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	records := os.Getenv("SUITE_RECORDS")
	if records == "" {
		records = "50000"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, suite, "-test.v", "-test.timeout", "20m")
	cmd.Dir = source // one of the tests reads it
	cmd.Env = append(os.Environ(), "KGO_SEEDS="+c.BootstrapString(), "KGO_TEST_RF=3", "KGO_LOG_LEVEL=none", "KGO_TEST_RECORDS="+records)
	cmd.Stdout, cmd.Stderr = out, out
	began := time.Now()
	err = cmd.Run()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	r := suiteResult{took: time.Since(began), output: output}
	if r.outcome, err = suiteOutcomes(output); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(out.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	return r
}

var suiteLine = regexp.MustCompile(`^\s*(?:=== RUN  |--- (PASS|FAIL|SKIP):) (\S+)`)

func suiteOutcomes(output string) (map[string]string, error) {
	f, err := os.Open(output)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	outcome := map[string]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := suiteLine.FindStringSubmatch(lines.Text())
		switch {
		case m == nil:
		case m[1] != "":
			outcome[m[2]] = m[1]
		case outcome[m[2]] == "":
			outcome[m[2]] = "RUN"
		}
	}
	return outcome, lines.Err()
}
