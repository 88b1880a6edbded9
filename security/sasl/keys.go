package sasl

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// signatures are the algorithms of tokens.
var signatures = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"}

const (
	fetchTimeout = 10 * time.Second
	// maxKeysBytes bounds what is read of a set of keys.
	maxKeysBytes = 1 << 20
	// expedite is the least time between two fetches that unknown keys have caused.
	expedite = 10 * time.Second
)

// Keys are those that tokens are signed with, as an endpoint has them. They are fetched by Run; until then no token is good.
// Kafka: RefreshingHttpsJwks.
type Keys struct {
	url     string
	refresh time.Duration
	keys    atomic.Pointer[map[string]any] // public keys by id; never changed, only replaced
	unknown chan struct{}                  // holds a token when a key was not found
}

// NewKeys fetches nothing yet.
func NewKeys(url string, refresh time.Duration) *Keys {
	k := &Keys{url: url, refresh: refresh, unknown: make(chan struct{}, 1)}
	k.keys.Store(&map[string]any{})
	return k
}

// find is a jwt.Keyfunc.
func (k *Keys) find(t *jwt.Token) (any, error) {
	id, _ := t.Header["kid"].(string)
	if key, ok := (*k.keys.Load())[id]; ok {
		return key, nil
	}
	select {
	case k.unknown <- struct{}{}:
	default:
	}
	return nil, fmt.Errorf("no key %q at %s", id, k.url)
}

// Run fetches the keys now and then until ctx ends, and when a token names one that is not known. failed is told what goes
// wrong; the former keys stay.
func (k *Keys) Run(ctx context.Context, failed func(error)) error {
	for {
		if err := k.fetch(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		soonest := time.After(expedite)
		next := time.NewTimer(k.refresh)
		select {
		case <-ctx.Done():
		case <-next.C:
		case <-k.unknown:
			select {
			case <-soonest:
			case <-ctx.Done():
			}
		}
		next.Stop()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // stopped, which is no fault
		}
	}
}

func (k *Keys) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxKeysBytes))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", k.url, resp.Status)
	}
	keys, err := parseKeys(data)
	if err != nil {
		return fmt.Errorf("%s: %w", k.url, err)
	}
	k.keys.Store(&keys)
	return nil
}

// jwk is one key of a set. RFC 7517, RFC 7518.
type jwk struct {
	Kty, Kid, Use, Crv, N, E, X, Y string
}

var curves = map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}

// parseKeys reads the keys of a set that can check signatures; others are left out.
func parseKeys(data []byte) (map[string]any, error) {
	var set struct{ Keys []jwk }
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, k := range set.Keys {
		key, err := k.public()
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", k.Kid, err)
		}
		if key != nil && k.Use != "enc" {
			out[k.Kid] = key
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no key")
	}
	return out, nil
}

func (k *jwk) public() (any, error) {
	switch k.Kty {
	case "RSA":
		n, err1 := base64.RawURLEncoding.DecodeString(k.N)
		e, err2 := base64.RawURLEncoding.DecodeString(k.E)
		key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if key.N.BitLen() < minRSABits || len(e) > 4 || key.E < 3 {
			return nil, fmt.Errorf("not an RSA key of %d bits or more", minRSABits)
		}
		return key, nil
	case "EC":
		curve := curves[k.Crv]
		if curve == nil {
			return nil, nil
		}
		x, err1 := base64.RawURLEncoding.DecodeString(k.X)
		y, err2 := base64.RawURLEncoding.DecodeString(k.Y)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{4}, x, y)) // each has the length of the curve
	}
	return nil, nil
}

// minRSABits is what RFC 7518 asks for.
const minRSABits = 2048
