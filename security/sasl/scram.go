package sasl

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"regexp"
	"strconv"
	"strings"
)

// The mechanisms of RFC 5802 and 7677.
const (
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// minIterations is what a credential must have. Kafka: ScramMechanism.
const minIterations = 4096

func hashOf(mechanism string) func() hash.Hash {
	if mechanism == ScramSHA512 {
		return sha512.New
	}
	return sha256.New
}

// Credential is what is kept of a password: enough to check it, not enough to log in. Kafka: ScramCredential.
type Credential struct {
	Salt, StoredKey, ServerKey []byte
	Iterations                 int
}

// ParseCredential reads what ZooKeeper has of a user: "salt=...,stored_key=...,server_key=...,iterations=4096".
// Kafka: ScramCredentialUtils.credentialFromString.
func ParseCredential(text string) (Credential, error) {
	fields := map[string]string{}
	for _, f := range strings.Split(text, ",") {
		k, v, ok := strings.Cut(f, "=")
		if _, twice := fields[k]; !ok || twice {
			return Credential{}, errors.New("credentials not valid")
		}
		fields[k] = v
	}
	var c Credential
	var errs [4]error
	c.Salt, errs[0] = base64.StdEncoding.DecodeString(fields["salt"])
	c.StoredKey, errs[1] = base64.StdEncoding.DecodeString(fields["stored_key"])
	c.ServerKey, errs[2] = base64.StdEncoding.DecodeString(fields["server_key"])
	c.Iterations, errs[3] = strconv.Atoi(fields["iterations"])
	if err := errors.Join(errs[:]...); err != nil || len(fields) != 4 {
		return Credential{}, fmt.Errorf("credentials not valid: %w", err)
	}
	return c, nil
}

// NewCredential derives the credential of a password.
func NewCredential(mechanism string, salt []byte, password string, iterations int) (Credential, error) {
	salted, err := saltedPassword(mechanism, password, salt, iterations)
	if err != nil {
		return Credential{}, err
	}
	return NewSaltedCredential(mechanism, salt, salted, iterations), nil
}

// NewSaltedCredential derives the credential of a password that was salted already. Kafka: ScramFormatter.
func NewSaltedCredential(mechanism string, salt, salted []byte, iterations int) Credential {
	stored := hashOf(mechanism)()
	stored.Write(sign(mechanism, salted, "Client Key"))
	return Credential{Salt: salt, StoredKey: stored.Sum(nil), ServerKey: sign(mechanism, salted, "Server Key"), Iterations: iterations}
}

// String is what ParseCredential reads. Kafka: ScramCredentialUtils.credentialToString.
func (c Credential) String() string {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("salt=%s,stored_key=%s,server_key=%s,iterations=%d", b64(c.Salt), b64(c.StoredKey), b64(c.ServerKey), c.Iterations)
}

func saltedPassword(mechanism, password string, salt []byte, iterations int) ([]byte, error) {
	h := hashOf(mechanism)
	return pbkdf2.Key(h, password, salt, iterations, h().Size())
}

func sign(mechanism string, key []byte, text string) []byte {
	mac := hmac.New(hashOf(mechanism), key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// The messages of clients. Kafka: ScramMessages.
const (
	saslName   = `(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+`
	printable  = `[\x21-\x2b\x2d-\x7e]+`
	base64Text = `(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?`
	extensions = `(?:,[A-Za-z]+=[\x01-\x2b\x2d-\x7f]+)*`
)

var (
	clientFirst = regexp.MustCompile(`^n,(?:a=(` + saslName + `))?,((?:m=[\x01-\x2b\x2d-\x7f]+,)?n=(` + saslName + `),r=(` + printable + `)` + extensions + `)$`)
	clientFinal = regexp.MustCompile(`^(c=` + base64Text + `,r=(` + printable + `)` + extensions + `),p=(` + base64Text + `)$`)
	serverFirst = regexp.MustCompile(`^(?:m=[\x01-\x2b\x2d-\x7f]+,)?r=(` + printable + `),s=(` + base64Text + `),i=([0-9]{1,9})` + extensions + `$`)

	escapeSASL   = strings.NewReplacer("=", "=3D", ",", "=2C")
	unescapeSASL = strings.NewReplacer("=2C", ",", "=3D", "=")
)

func nonce() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// scram is the server's side of SCRAM. Kafka: ScramSaslServer.
type scram struct {
	mechanism  string
	find       func(mechanism, user string) (Credential, bool)
	user       string
	credential Credential
	nonce      string
	// exchange is what both sides have said, as the proofs are over it: empty before the first message.
	exchange string
}

func (s *scram) step(token []byte) (reply []byte, who *identity, err error) {
	if s.exchange == "" {
		reply, err = s.first(string(token))
		return reply, nil, err
	}
	return s.final(string(token))
}

func (s *scram) first(message string) ([]byte, error) {
	m := clientFirst.FindStringSubmatch(message)
	if m == nil {
		return nil, errors.New("Invalid SCRAM message format")
	}
	s.user = unescapeSASL.Replace(m[3])
	var ok bool
	if s.credential, ok = s.find(s.mechanism, s.user); !ok {
		return nil, errors.New("Authentication failed: Invalid user credentials")
	}
	if as := m[1]; as != "" && unescapeSASL.Replace(as) != s.user {
		return nil, refused("Authentication failed: Client requested an authorization id that is different from username")
	}
	if n := s.credential.Iterations; n < minIterations {
		return nil, fmt.Errorf("Iterations %d is less than the minimum %d for %s", n, minIterations, s.mechanism)
	}
	s.nonce = m[4] + nonce()
	reply := fmt.Sprintf("r=%s,s=%s,i=%d", s.nonce, base64.StdEncoding.EncodeToString(s.credential.Salt), s.credential.Iterations)
	s.exchange = m[2] + "," + reply
	return []byte(reply), nil
}

func (s *scram) final(message string) (reply []byte, who *identity, err error) {
	m := clientFinal.FindStringSubmatch(message)
	if m == nil {
		return nil, nil, errors.New("Invalid SCRAM message format")
	}
	// The whole nonce is in the proof. Here Kafka looks at the end only, and librdkafka puts its own in front twice.
	if !strings.HasSuffix(m[2], s.nonce) {
		return nil, nil, errors.New("Invalid client nonce in the final client message")
	}
	proof, err := base64.StdEncoding.DecodeString(m[3])
	if err != nil {
		return nil, nil, err
	}
	exchange := s.exchange + "," + m[1]
	signature := sign(s.mechanism, s.credential.StoredKey, exchange)
	if len(proof) != len(signature) {
		return nil, nil, errors.New("Invalid client credentials")
	}
	subtle.XORBytes(proof, proof, signature)
	stored := hashOf(s.mechanism)()
	stored.Write(proof)
	if subtle.ConstantTimeCompare(stored.Sum(nil), s.credential.StoredKey) != 1 {
		return nil, nil, errors.New("Invalid client credentials")
	}
	answer := sign(s.mechanism, s.credential.ServerKey, exchange)
	return []byte("v=" + base64.StdEncoding.EncodeToString(answer)), &identity{name: s.user}, nil
}

// scramClient is the other side of scram. Kafka: ScramSaslClient.
type scramClient struct {
	mechanism, user, password string
	own                       string // nonce
	bare                      string // the first message, as the proofs have it
	answer                    []byte // what the server has to sign with
}

func (c *scramClient) first() []byte {
	c.own = nonce()
	c.bare = "n=" + escapeSASL.Replace(c.user) + ",r=" + c.own
	return []byte("n,," + c.bare)
}

func (c *scramClient) next(challenge []byte) (token []byte, done bool, err error) {
	if c.answer != nil {
		return nil, true, c.verify(challenge)
	}
	m := serverFirst.FindSubmatch(challenge)
	if m == nil {
		return nil, false, errors.New("Invalid SCRAM message format")
	}
	if !bytes.HasPrefix(m[1], []byte(c.own)) {
		return nil, false, errors.New("Invalid server nonce: does not start with client nonce")
	}
	salt, err := base64.StdEncoding.DecodeString(string(m[2]))
	if err != nil {
		return nil, false, err
	}
	iterations, err := strconv.Atoi(string(m[3]))
	if err != nil || iterations < minIterations || iterations > maxIterations {
		return nil, false, fmt.Errorf("Requested iterations %s is not between %d and %d for %s", m[3], minIterations, maxIterations, c.mechanism)
	}
	salted, err := saltedPassword(c.mechanism, c.password, salt, iterations)
	if err != nil {
		return nil, false, err
	}
	final := "c=biws,r=" + string(m[1])
	exchange := c.bare + "," + string(challenge) + "," + final
	proof := sign(c.mechanism, salted, "Client Key")
	stored := hashOf(c.mechanism)()
	stored.Write(proof)
	subtle.XORBytes(proof, proof, sign(c.mechanism, stored.Sum(nil), exchange))
	c.answer = sign(c.mechanism, sign(c.mechanism, salted, "Server Key"), exchange)
	return []byte(final + ",p=" + base64.StdEncoding.EncodeToString(proof)), false, nil
}

// maxIterations bounds the work that a server can make of a client.
const maxIterations = 1_000_000

func (c *scramClient) verify(final []byte) error {
	signature, ok := bytes.CutPrefix(final, []byte("v="))
	if !ok {
		return fmt.Errorf("Sasl authentication using %s failed with error: %s", c.mechanism, final)
	}
	got, err := base64.StdEncoding.DecodeString(string(signature))
	if err != nil || subtle.ConstantTimeCompare(got, c.answer) != 1 {
		return errors.New("Invalid server signature in server final message")
	}
	return nil
}
