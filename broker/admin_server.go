package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// adminServer answers /metrics (Prometheus) and /healthz on a port of its own.
type adminServer struct {
	listener net.Listener
	server   *http.Server
}

// openAdminServer binds addr. healthy tells whether clients can use the broker.
func openAdminServer(ctx context.Context, addr string, registry prometheus.Gatherer, healthy func() bool) (*adminServer, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("jackdaw.admin.listen=%s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !healthy() {
			http.Error(w, "starting or stopping", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return &adminServer{listener: l, server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}, nil
}

// Run serves until ctx ends.
func (a *adminServer) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = a.server.Close() })
	defer stop()
	if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin listener: %w", err)
	}
	return nil
}
