package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// command runs a command line and returns the exit code and both streams.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, streams{&out, &errs})
	return code, out.String(), errs.String()
}

func TestExecute_WrongCommandLine_IsTwo(t *testing.T) {
	for _, args := range [][]string{
		{"fly"},
		{"start", "a", "b"},
		{"plan"},
		{"plan", "--nonsense"},
		{"plan", "--data", "x"},
		{"dump-log"},
		{"version", "x"},
		{"plan", "--partitions", "3"},
		{"plan", "--data", "1TB", "--disk", "1TB", "--replicas", "0"},
	} {
		code, _, stderr := command(t, args...)
		if code != 2 || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "jackdaw: ") {
			t.Errorf("%q: exit %d, %q", args, code, stderr)
		}
	}
}

func TestExecute_Version_Prints(t *testing.T) {
	if code, out, _ := command(t, "version"); code != 0 || !strings.HasPrefix(out, "jackdaw unknown, speaks Kafka 3.9 (go") {
		t.Fatalf("exit %d, %q", code, out)
	}
}

func TestExecute_Bare_ShowsHelp(t *testing.T) {
	if code, out, _ := command(t); code != 0 || !strings.Contains(out, "dump-log") {
		t.Fatalf("exit %d, %q", code, out)
	}
}

func TestStart_BadConfiguration_OneLineThatNamesTheKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(path, []byte("zookeeper.connect=embedded\nnum.partitions=many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := command(t, "start", path)
	if want := "jackdaw: Invalid value many for configuration num.partitions: Not a number of type INT\n"; code != 1 || stderr != want {
		t.Fatalf("exit %d, %q", code, stderr)
	}
	code, _, stderr = command(t, "start", path, "--override", "num.partitions=1", "--override", "listeners=PLAINTEXT://0.0.0.0:0")
	if code != 1 || !strings.HasPrefix(stderr, "jackdaw: advertised.listeners cannot use") || strings.Count(stderr, "\n") != 1 {
		t.Fatalf("exit %d, %q", code, stderr)
	}
	if code, _, stderr = command(t, "start", path+".none"); code != 1 || !strings.HasSuffix(stderr, "no such file or directory\n") {
		t.Fatalf("exit %d, %q", code, stderr)
	}
}

func TestHealth_Answers_AreExitCodes(t *testing.T) {
	status := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "x")
	}))
	defer srv.Close()
	addr := strings.TrimPrefix(srv.URL, "http://")
	if code, _, stderr := command(t, "health", "--admin", addr); code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	path := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(path, []byte("zookeeper.connect=h:1\njackdaw.admin.listen="+addr+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status = http.StatusServiceUnavailable
	if code, _, stderr := command(t, "health", path); code != 1 || !strings.Contains(stderr, "not ready") {
		t.Fatalf("exit %d, %s", code, stderr)
	}
}

func TestZooKeeper_Stopped_ExitsClean(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := execute(ctx, []string{"zookeeper", "--port", "0", "--data", t.TempDir(), "--log-level", "error"}, streams{&out, &errs}); code != 0 {
		t.Fatalf("exit %d, %s", code, errs.String())
	}
}
