package sasl

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Tokens say which tokens of OAUTHBEARER are good. Kafka: sasl.oauthbearer.*, OAuthBearerValidatorCallbackHandler.
type Tokens struct {
	// URL has the keys that have signed them, and Refresh is how often they are fetched, into Keys. An empty URL accepts
	// tokens without a signature, which prove nothing. Kafka does so, too, where nothing else is set, for tests. Then
	// the options of the JAAS entry count.
	URL      string
	Refresh  time.Duration
	Keys     *Keys
	Audience []string // any of them, if there are any
	Issuer   string   // if it is not empty
	Skew     time.Duration
	SubClaim string
}

// tokenFault is what is wrong with a token; status goes to the client.
type tokenFault struct {
	status, scope string
	err           error
}

func (f *tokenFault) Error() string { return f.err.Error() }

// check reads a token. Kafka: ValidatorAccessTokenValidator, OAuthBearerUnsecuredValidatorCallbackHandler.
func (t *Tokens) check(token string, options map[string]string, now time.Time) (*identity, error) {
	if t.URL == "" {
		return unsecured(token, options, now)
	}
	checks := []jwt.ParserOption{
		jwt.WithValidMethods(signatures), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(t.Skew),
		jwt.WithTimeFunc(func() time.Time { return now }),
	}
	if t.Issuer != "" {
		checks = append(checks, jwt.WithIssuer(t.Issuer))
	}
	claims := jwt.MapClaims{}
	if _, err := jwt.NewParser(checks...).ParseWithClaims(token, claims, t.Keys.find); err != nil {
		return nil, err
	}
	audience, err := claims.GetAudience()
	if err != nil || len(t.Audience) > 0 && !slices.ContainsFunc(audience, func(a string) bool { return slices.Contains(t.Audience, a) }) {
		return nil, fmt.Errorf("audience %v is not among %v", audience, t.Audience)
	}
	if issued, err := claims.GetIssuedAt(); err != nil || issued == nil {
		return nil, errors.New("the token does not say when it was issued")
	}
	return claimed(claims, t.SubClaim)
}

// claimed takes out who a token is about, and how long it is good.
func claimed(claims jwt.MapClaims, sub string) (*identity, error) {
	name, _ := claims[sub].(string)
	if strings.TrimSpace(name) == "" {
		return nil, fmt.Errorf("the token has no claim %s", sub)
	}
	expires, err := claims.GetExpirationTime()
	if err != nil || expires == nil {
		return nil, errors.New("the token does not say when it expires")
	}
	return &identity{name: name, expires: expires.Time}, nil
}

// unsecured reads a token without a signature. Kafka: OAuthBearerUnsecuredJws.
func unsecured(token string, options map[string]string, now time.Time) (*identity, error) {
	option := func(name, otherwise string) string {
		if v := options["unsecuredValidator"+name]; v != "" {
			return v
		}
		return otherwise
	}
	skewMs, err := strconv.ParseInt(option("AllowableClockSkewMs", "0"), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("unsecuredValidatorAllowableClockSkewMs: %w", err)
	}
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"none"}), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(time.Duration(skewMs)*time.Millisecond), jwt.WithTimeFunc(func() time.Time { return now }))
	if _, err := parser.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return jwt.UnsafeAllowNoneSignatureType, nil }); err != nil {
		return nil, err
	}
	if want := strings.Fields(option("RequiredScope", "")); len(want) > 0 {
		have := scopes(claims[option("ScopeClaimName", "scope")])
		if slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) }) {
			return nil, &tokenFault{"insufficient_scope", strings.Join(want, " "), fmt.Errorf("scope %v lacks some of %v", have, want)}
		}
	}
	return claimed(claims, option("PrincipalClaimName", "sub"))
}

// scopes are one text with spaces, or a list.
func scopes(claim any) []string {
	if text, ok := claim.(string); ok {
		return strings.Fields(text)
	}
	var out []string
	list, _ := claim.([]any)
	for _, s := range list {
		out = append(out, fmt.Sprint(s))
	}
	return out
}

// bearerFirst is what a client says. Kafka: OAuthBearerClientInitialResponse; RFC 7628.
var bearerFirst = regexp.MustCompile("^n,(?:a=(" + saslName + "))?,\x01(?:[A-Za-z]+=[\\x21-\\x7e \t\r\n]+\x01)*?auth=(?i:bearer)[ ]+([-_.a-zA-Z0-9]+)\x01(?:[A-Za-z]+=[\\x21-\\x7e \t\r\n]+\x01)*\x01$")

// bearer is OAUTHBEARER. Kafka: OAuthBearerSaslServer.
type bearer struct {
	tokens  *Tokens
	options map[string]string
	now     func() time.Time
	// fault is what was wrong with the token; the client acknowledges it with a byte before it is refused.
	fault string
}

func (b *bearer) step(token []byte) (reply []byte, who *identity, err error) {
	if b.fault != "" {
		return nil, nil, refused("%s", b.fault)
	}
	m := bearerFirst.FindSubmatch(token)
	if m == nil {
		return nil, nil, errors.New("Invalid OAUTHBEARER client first message")
	}
	who, err = b.tokens.check(string(m[2]), b.options, b.now())
	if err != nil {
		fault := &tokenFault{status: "invalid_token"}
		errors.As(err, &fault)
		answer, err := json.Marshal(struct {
			Status string `json:"status"`
			Scope  string `json:"scope,omitempty"`
		}{fault.status, fault.scope})
		b.fault = string(answer)
		return answer, nil, err
	}
	if as := unescapeSASL.Replace(string(m[1])); as != "" && as != who.name {
		return nil, nil, refused("Authentication failed: Client requested an authorization id (%s) that is different from the token's principal name (%s)", as, who.name)
	}
	return []byte{}, who, nil
}

// bearerClient shows a token without a signature. Kafka: OAuthBearerUnsecuredLoginCallbackHandler.
type bearerClient struct {
	sub string
	now func() time.Time
}

// unsecuredLife is how long a token of one's own lasts.
const unsecuredLife = time.Hour

func (c bearerClient) first() []byte {
	now := c.now()
	claims, _ := json.Marshal(map[string]any{"sub": c.sub, "iat": now.Unix(), "exp": now.Add(unsecuredLife).Unix()}) // strings and numbers
	b64 := base64.RawURLEncoding.EncodeToString
	return []byte("n,,\x01auth=Bearer " + b64([]byte(`{"alg":"none"}`)) + "." + b64(claims) + ".\x01\x01")
}

func (c bearerClient) next(challenge []byte) (token []byte, done bool, err error) {
	if len(challenge) > 0 {
		return []byte{1}, false, nil // the refusal comes then
	}
	return nil, true, nil
}
