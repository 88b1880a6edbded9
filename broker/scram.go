package broker

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// scramMechanism is a mechanism as requests number it. Kafka: ScramMechanism.
type scramMechanism int8

const (
	scramSHA256 scramMechanism = 1
	scramSHA512 scramMechanism = 2
)

// Bounds of iterations. Kafka: ScramMechanism.minIterations, ZkAdminManager.
const (
	minScramIterations = 4096
	maxScramIterations = 16384
)

// name is the mechanism's name, which is also the key of a user's configuration; "" for an unknown one.
func (m scramMechanism) name() string {
	switch m {
	case scramSHA256:
		return "SCRAM-SHA-256"
	case scramSHA512:
		return "SCRAM-SHA-512"
	}
	return ""
}

func (m scramMechanism) hash() hash.Hash {
	if m == scramSHA512 {
		return sha512.New()
	}
	return sha256.New()
}

// scramCredential is what ZooKeeper keeps of a password: enough to check it, not enough to log in. Kafka:
// ScramFormatter, ScramCredentialUtils.credentialToString; RFC 5802.
func scramCredential(m scramMechanism, salt, saltedPassword []byte, iterations int32) string {
	keyed := func(text string) []byte {
		mac := hmac.New(m.hash, saltedPassword)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	stored := m.hash()
	stored.Write(keyed("Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("salt=%s,stored_key=%s,server_key=%s,iterations=%d", b64(salt), b64(stored.Sum(nil)), b64(keyed("Server Key")), iterations)
}

// credentialInfos tells which mechanisms a user has, and with how many iterations.
func credentialInfos(settings map[string]string) []kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo {
	var out []kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo
	for _, m := range []scramMechanism{scramSHA256, scramSHA512} {
		text, ok := settings[m.name()]
		if !ok {
			continue
		}
		_, after, _ := strings.Cut(text, "iterations=")
		n, err := strconv.ParseInt(after, 10, 32)
		if err != nil {
			continue
		}
		out = append(out, kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo{Mechanism: int8(m), Iterations: int32(n)})
	}
	return out
}
