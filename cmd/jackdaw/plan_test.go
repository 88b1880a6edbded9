package main

import (
	"strings"
	"testing"
	"time"
)

// answer runs plan and returns its output, which must end well.
func answer(t *testing.T, args ...string) string {
	t.Helper()
	code, out, stderr := command(t, append([]string{"plan"}, args...)...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	return out
}

func TestPlan_Sizes_AsAsked(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"--data 10TB --disk 2TB", "answer: 5 brokers"},
		{"--data 10TB --disk 2TB --replicas 2", "answer: 10 brokers"},
		{"--data 10TB --disk 2TB --headroom 20", "answer: 7 brokers"},
		{"--data 10TB --disk 2TB --growth 50", "answer: 8 brokers"},
		{"--data 10TB --disk 2TB --replicas 3 --headroom 25 --growth 100", "answer: 40 brokers"},
		{"--data 1GB --disk 2TB", "answer: 1 broker\n"},
		{"--data 1GB --disk 2TB --replicas 3", "answer: 3 brokers"},
		{"--data 1TiB --disk 1TB", "answer: 2 brokers"},
		// 40 MB/s for 7 days are 24.192 TB.
		{"--throughput 40MB/s --retention 7d --disk 10TB", "answer: 3 brokers"},
		// 100 MB/s x 3 arrive, and 100 x (2 + 4) leave.
		{"--data 1GB --disk 1TB --replicas 3 --throughput 100MB --network 100MB --consumers 4", "answer: 6 brokers"},
	} {
		if out := answer(t, strings.Fields(tc.args)...); !strings.Contains(out, tc.want) {
			t.Errorf("%s: want %s, got\n%s", tc.args, tc.want, out)
		}
	}
}

func TestPlan_Reasoning_IsPrinted(t *testing.T) {
	got := answer(t, "--data", "10TB", "--disk", "2TB", "--replicas", "2", "--headroom", "20")
	want := `data to keep                      10 TB
on disks                          20 TB   x 2 replicas
usable disk of a broker          1.6 TB   2 TB less 20% headroom

at least   13 brokers   disks: 20 TB / 1.6 TB
at least    2 brokers   replicas: the 2 of a partition are on different brokers

answer: 13 brokers
`
	if !strings.HasPrefix(got, want) {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPlan_Assignment_IsEven(t *testing.T) {
	out := answer(t, "--brokers", "6", "--partitions", "10", "--replicas", "3")
	if !strings.Contains(out, "balance: 1 to 2 leaders and 5 replicas a broker") {
		t.Errorf("got\n%s", out)
	}
	out = answer(t, "--brokers", "3", "--partitions", "1", "--topics", "9", "--replicas", "3")
	if !strings.Contains(out, "balance: 3 leaders and 9 replicas a broker") || !strings.Contains(out, "\nt9-0 ") {
		t.Errorf("got\n%s", out)
	}
	out = answer(t, "--brokers", "6", "--partitions", "4", "--replicas", "3", "--racks", "a,b,c")
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) != 3 || strings.Count(fields[2], ",") != 2 {
			continue
		}
		racks := map[int]bool{}
		for _, id := range strings.Split(fields[2], ",") {
			racks[(int(id[0]-'0')-1)%3] = true
		}
		if len(racks) != 3 {
			t.Errorf("partition on %d racks: %s", len(racks), line)
		}
	}
}

func TestPlan_MoreReplicasThanBrokers_IsRefused(t *testing.T) {
	code, _, stderr := command(t, "plan", "--brokers", "2", "--partitions", "1", "--replicas", "3")
	if code != 1 || !strings.Contains(stderr, "Replication factor: 3 larger than available brokers: 2.") {
		t.Fatalf("exit %d, %s", code, stderr)
	}
}

func TestQuantities_Texts_AreParsed(t *testing.T) {
	for text, want := range map[string]float64{
		"10TB": 1e13, "1.5 gb": 1.5e9, "512GiB": 512 << 30, "7": 7, "3B": 3, "1e6": 1e6, "2PiB": 2 << 50,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "TB", "-1GB", "x", "1XB", "Inf"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: got %v", text, got)
		}
	}
	for text, want := range map[string]time.Duration{"7d": 168 * time.Hour, "36h": 36 * time.Hour, "0.5d": 12 * time.Hour} {
		var s span
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("%s: got %v, %v", text, time.Duration(s), err)
		}
	}
	for in, want := range map[float64]string{1e13: "10 TB", 1.6e12: "1.6 TB", 999: "999 B", 1234567: "1.23 MB"} {
		if got := formatSize(in); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
