package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"jackdaw/config"
)

func newHealth() *cobra.Command {
	var addr string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "health [FILE]",
		Short: "Exit with 0 when a broker can be used by clients, for container health checks",
		Args:  arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if addr == "" {
				loaded, err := config.Load(fileArgument(args), os.Environ(), nil)
				if err != nil {
					return err
				}
				addr = loaded.Broker().Admin.Listen
			}
			if addr == "" {
				return errors.New("jackdaw.admin.listen is not set: there is nobody to ask")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return askHealth(ctx, addr)
		},
	}
	cmd.Flags().StringVar(&addr, "admin", "", "`host:port` of the broker's jackdaw.admin.listen; by default as FILE and the environment say")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return cmd
}

// askHealth is nil when the broker at the admin address says that it can be used.
func askHealth(ctx context.Context, addr string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: not ready (%s)", addr, resp.Status)
	}
	return nil
}
