package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"jackdaw/controller/state"
	"jackdaw/metadata"
)

// assignment asks where the controller would put the partitions of new topics on empty brokers 1, 2, 3 ...
type assignment struct {
	brokers, partitions, replicas, topics int
	// racks are given to the brokers in turn; none means that no broker has a rack.
	racks []string
}

// placed are the replicas of one partition, the leader first.
type placed struct {
	topic, partition int
	replicas         []metadata.BrokerID
}

// place returns the partitions in order and what each broker then has.
func (a *assignment) place() ([]placed, []state.BrokerLoad, error) {
	loads := make([]state.BrokerLoad, a.brokers)
	for i := range loads {
		loads[i].ID = metadata.BrokerID(i + 1)
		if len(a.racks) > 0 {
			loads[i].Rack = a.racks[i%len(a.racks)]
		}
	}
	var out []placed
	for topic := range a.topics {
		replicas, err := state.Place(loads, 0, a.partitions, a.replicas)
		if err != nil {
			return nil, nil, err
		}
		for p := range a.partitions {
			ids := replicas[int32(p)]
			out = append(out, placed{topic, p, ids})
			loads[ids[0]-1].Leaders++
			for _, id := range ids {
				loads[id-1].Replicas++
			}
		}
	}
	return out, loads, nil
}

// print writes the assignment and its balance.
func (a *assignment) print(w io.Writer) error {
	if a.topics < 1 {
		return &usageError{fmt.Errorf("--topics must be at least 1")}
	}
	parts, loads, err := a.place()
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s %-8s %s\n", "partition", "leader", "replicas")
	for _, p := range parts {
		fmt.Fprintf(&b, "%-10s %-8d %s\n", a.name(p), p.replicas[0], joinIDs(p.replicas))
	}
	fmt.Fprintf(&b, "\n%-10s %-8s %-8s %s\n", "broker", "leaders", "replicas", "rack")
	for _, l := range loads {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-10d %-8d %-8d %s", l.ID, l.Leaders, l.Replicas, l.Rack), " "))
	}
	leaders, replicas := spread(loads, func(l state.BrokerLoad) int { return l.Leaders }), spread(loads, func(l state.BrokerLoad) int { return l.Replicas })
	fmt.Fprintf(&b, "\nbalance: %s leaders and %s replicas a broker\n", leaders, replicas)
	_, err = io.WriteString(w, b.String())
	return err
}

func (a *assignment) name(p placed) string {
	if a.topics == 1 {
		return strconv.Itoa(p.partition)
	}
	return fmt.Sprintf("t%d-%d", p.topic+1, p.partition)
}

// spread is "5", or "4 to 6".
func spread(loads []state.BrokerLoad, of func(state.BrokerLoad) int) string {
	low, high := of(loads[0]), of(loads[0])
	for _, l := range loads {
		low, high = min(low, of(l)), max(high, of(l))
	}
	if low == high {
		return strconv.Itoa(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

func joinIDs(ids []metadata.BrokerID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(parts, ",")
}
