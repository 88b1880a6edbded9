package txn

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Config bounds transactions, from server.properties.
type Config struct {
	// MaxTimeout is transaction.max.timeout.ms.
	MaxTimeout time.Duration
	// IDExpiration is transactional.id.expiration.ms.
	IDExpiration time.Duration
	// AbortInterval is transaction.abort.timed.out.transaction.cleanup.interval.ms.
	AbortInterval time.Duration
	// ExpireInterval is transaction.remove.expired.transaction.cleanup.interval.ms.
	ExpireInterval time.Duration
	// CompleteRetry is the pause after the record that ends a transaction could not be written. No key.
	CompleteRetry time.Duration
}

// DefaultConfig returns Kafka's defaults.
func DefaultConfig() Config {
	return Config{
		MaxTimeout:     15 * time.Minute,
		IDExpiration:   7 * 24 * time.Hour,
		AbortInterval:  10 * time.Second,
		ExpireInterval: time.Hour,
		CompleteRetry:  100 * time.Millisecond,
	}
}

// CheckTimeout returns INVALID_TRANSACTION_TIMEOUT for a transaction timeout that no producer may ask for.
func (c Config) CheckTimeout(d time.Duration) error {
	if d <= 0 || d > c.MaxTimeout {
		return kerr.InvalidTransactionTimeout
	}
	return nil
}
