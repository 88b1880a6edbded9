//go:build compat

package compat

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/compat-tests/cluster"
)

// TestCreateTopics_ControllerDies_EveryTopicIsThereOnce creates topics one after the other, kills the controller on the way, and
// asks again for each that was not answered: what was answered for exists, and nothing is half there.
func TestCreateTopics_ControllerDies_EveryTopicIsThereOnce(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{"zookeeper.session.timeout.ms": shortSession()}})
	adm := admin(t, c)
	const topics = 30
	kill := make(chan error, 1)
	for i := range topics {
		if i == topics/3 {
			victim := controller(t, c)
			go func() { kill <- victim.Kill() }()
		}
		name := fmt.Sprintf("created-%02d", i)
		cluster.Eventually(t, time.Minute, "creation of "+name, func() error { return createOnce(t, adm, name) })
	}
	if err := <-kill; err != nil {
		t.Fatal(err)
	}
	for i := range topics {
		waitLeaders(t, c, fmt.Sprintf("created-%02d", i), 2)
	}
	if names, err := c.Tree.Children("/brokers/topics"); err != nil || len(names) != topics {
		t.Errorf("topics %v, %v", names, err)
	}
	if names, err := c.Tree.Children("/config/topics"); err != nil || len(names) != topics {
		t.Errorf("configs %v, %v", names, err)
	}
}

// createOnce is content with a topic that a former attempt has made, whose answer was lost.
func createOnce(t *testing.T, adm *kadm.Client, name string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	r, err := adm.CreateTopic(ctx, 2, 2, nil, name)
	if err == nil {
		err = r.Err
	}
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return nil
	}
	return err
}
