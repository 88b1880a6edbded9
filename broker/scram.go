package broker

import (
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/security/sasl"
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
		return sasl.ScramSHA256
	case scramSHA512:
		return sasl.ScramSHA512
	}
	return ""
}

// scramCredential is what ZooKeeper keeps of a password: enough to check it, not enough to log in. RFC 5802.
func scramCredential(m scramMechanism, salt, saltedPassword []byte, iterations int32) string {
	return sasl.NewSaltedCredential(m.name(), salt, saltedPassword, int(iterations)).String()
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
