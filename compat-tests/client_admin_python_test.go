//go:build compat

package compat

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jackdaw/compat-tests/cluster"
)

// TestAdminClient_Python_EveryCall runs testdata/admin_clients.py with the admin clients of librdkafka and of kafka-python.
func TestAdminClient_Python_EveryCall(t *testing.T) {
	c := three(t)
	path := filepath.Join(cluster.CacheDir(), "clients-python", "bin", "python")
	_, err := os.Stat(path)
	cluster.Need(t, err)
	for _, kind := range []string{"confluent", "kafka-python"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, path, "testdata/admin_clients.py", c.BootstrapString(), kind).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "done "+kind) {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
	}
}
