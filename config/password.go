package config

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // PBKDF2WithHmacSHA1 is one of Java's
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// PasswordEncoder encrypts the passwords of dynamic settings for ZooKeeper. Kafka: EncryptingPasswordEncoder.
type PasswordEncoder struct {
	secret     string
	keyFactory string
	cipher     string
	keyBits    int
	iterations int
}

// keyFactories are the derivations of keys, by Java's names.
var keyFactories = map[string]func() hash.Hash{
	"PBKDF2WithHmacSHA1": sha1.New, "PBKDF2WithHmacSHA224": sha256.New224, "PBKDF2WithHmacSHA256": sha256.New,
	"PBKDF2WithHmacSHA384": sha512.New384, "PBKDF2WithHmacSHA512": sha512.New,
}

// The ciphers, by Java's names.
const (
	aesCBC = "AES/CBC/PKCS5Padding"
	aesGCM = "AES/GCM/NoPadding"
)

const (
	saltBytes = 256
	// maxEncoderIterations bounds what a setting in ZooKeeper can cost.
	maxEncoderIterations = 10_000_000
)

var errUndecodable = errors.New("Password could not be decoded")

// passwordEncoder reads password.encoder.*, with the secret of a key; nil where that is not set.
func passwordEncoder(r *reader, secretKey string) (*PasswordEncoder, error) {
	secret := r.optional(secretKey)
	e := &PasswordEncoder{
		keyFactory: "PBKDF2WithHmacSHA512", cipher: r.str("password.encoder.cipher.algorithm"),
		keyBits: r.int("password.encoder.key.length"), iterations: r.int("password.encoder.iterations"),
	}
	if f := r.optional("password.encoder.keyfactory.algorithm"); f != nil {
		e.keyFactory = *f
	}
	if secret == nil {
		return nil, nil
	}
	e.secret = *secret
	switch {
	case e.cipher != aesCBC && e.cipher != aesGCM:
		return nil, refuse("password.encoder.cipher.algorithm", "Invalid value %s for configuration password.encoder.cipher.algorithm: supported are %s and %s", e.cipher, aesCBC, aesGCM)
	case keyFactories[e.keyFactory] == nil:
		return nil, refuse("password.encoder.keyfactory.algorithm", "Invalid value %s for configuration password.encoder.keyfactory.algorithm: supported are %s", e.keyFactory, strings.Join(sortedKeys(keyFactories), ", "))
	case !slices.Contains([]int{128, 192, 256}, e.keyBits):
		return nil, refuse("password.encoder.key.length", "Invalid value %d for configuration password.encoder.key.length: AES has keys of 128, 192 and 256 bits", e.keyBits)
	}
	return e, nil
}

// Encode encrypts a password.
func (e *PasswordEncoder) Encode(password string) (string, error) {
	salt, iv := make([]byte, saltBytes), make([]byte, e.ivBytes())
	_, _ = rand.Read(salt) // never fails
	_, _ = rand.Read(iv)
	block, err := e.block(salt)
	if err != nil {
		return "", err
	}
	b64 := base64.StdEncoding.EncodeToString
	fields := []string{
		"cipherAlgorithm:" + e.cipher, "initializationVector:" + b64(iv), "keyFactoryAlgorithm:" + e.keyFactory,
		"keyLength:" + strconv.Itoa(e.keyBits), "salt:" + b64(salt), "iterations:" + strconv.Itoa(e.iterations),
		"passwordLength:" + strconv.Itoa(javaLength(password)),
	}
	var sealed []byte
	if e.cipher == aesGCM {
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			return "", err
		}
		sealed = gcm.Seal(nil, iv, []byte(password), nil)
		fields = append(fields, "authenticationTagLength:128")
	} else {
		n := aes.BlockSize - len(password)%aes.BlockSize
		sealed = append([]byte(password), bytes.Repeat([]byte{byte(n)}, n)...)
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(sealed, sealed)
	}
	return strings.Join(append(fields, "encryptedPassword:"+b64(sealed)), ","), nil
}

func (e *PasswordEncoder) ivBytes() int {
	if e.cipher == aesGCM {
		return 12
	}
	return aes.BlockSize
}

func (e *PasswordEncoder) block(salt []byte) (cipher.Block, error) {
	key, err := pbkdf2.Key(keyFactories[e.keyFactory], e.secret, salt, e.iterations, e.keyBits/8)
	if err != nil {
		return nil, err
	}
	return aes.NewCipher(key)
}

// Decode decrypts what any encoder with the same secret has written: the text says how.
func (e *PasswordEncoder) Decode(text string) (string, error) {
	fields := map[string]string{}
	for _, f := range strings.Split(text, ",") {
		k, v, ok := strings.Cut(strings.TrimSpace(f), ":")
		if !ok {
			return "", errUndecodable
		}
		fields[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	how := PasswordEncoder{secret: e.secret, cipher: fields["cipherAlgorithm"], keyFactory: fields["keyFactoryAlgorithm"]}
	var errs [5]error
	var iv, salt, sealed []byte
	how.keyBits, errs[0] = strconv.Atoi(fields["keyLength"])
	how.iterations, errs[1] = strconv.Atoi(fields["iterations"])
	iv, errs[2] = base64.StdEncoding.DecodeString(fields["initializationVector"])
	salt, errs[3] = base64.StdEncoding.DecodeString(fields["salt"])
	sealed, errs[4] = base64.StdEncoding.DecodeString(fields["encryptedPassword"])
	if err := errors.Join(errs[:]...); err != nil || keyFactories[how.keyFactory] == nil || how.iterations < 1 || how.iterations > maxEncoderIterations || how.keyBits < 1 {
		return "", errUndecodable
	}
	password, err := how.open(iv, salt, sealed)
	if err != nil {
		return "", err
	}
	if strconv.Itoa(javaLength(password)) != fields["passwordLength"] {
		return "", fmt.Errorf("%w, sanity check of length failed", errUndecodable)
	}
	return password, nil
}

func (e *PasswordEncoder) open(iv, salt, sealed []byte) (string, error) {
	block, err := e.block(salt)
	if err != nil {
		return "", errors.Join(errUndecodable, err)
	}
	switch {
	case e.cipher == aesGCM && len(iv) > 0:
		gcm, err := cipher.NewGCMWithNonceSize(block, len(iv))
		if err != nil {
			return "", errors.Join(errUndecodable, err)
		}
		plain, err := gcm.Open(nil, iv, sealed, nil)
		if err != nil {
			return "", errUndecodable
		}
		return string(plain), nil
	case e.cipher != aesCBC || len(iv) != aes.BlockSize || len(sealed) == 0 || len(sealed)%aes.BlockSize != 0:
		return "", errUndecodable
	}
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(sealed, sealed)
	n := int(sealed[len(sealed)-1])
	if n < 1 || n > aes.BlockSize || !bytes.HasSuffix(sealed, bytes.Repeat([]byte{byte(n)}, n)) {
		return "", errUndecodable
	}
	return string(sealed[:len(sealed)-n]), nil
}

// javaLength is String.length.
func javaLength(s string) int { return len(utf16.Encode([]rune(s))) }

// DecodePasswords undoes EncodePasswords. What cannot be decoded is left out, and named in the error. moved tells that
// password.encoder.old.secret was needed.
func (l *Loaded) DecodePasswords(settings map[string]string) (out map[string]string, moved bool, err error) {
	out = make(map[string]string, len(settings))
	var errs []error
	for _, name := range sortedKeys(settings) {
		text := settings[name]
		if describedKey(name).Type != Password {
			out[name] = text
			continue
		}
		if l.passwords == nil {
			errs = append(errs, fmt.Errorf("%s: %w: password.encoder.secret is not set", name, errUndecodable))
			continue
		}
		password, err := l.passwords.Decode(text)
		if err != nil && l.oldPasswords != nil {
			password, err = l.oldPasswords.Decode(text)
			moved = moved || err == nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		out[name] = password
	}
	return out, moved, errors.Join(errs...)
}

// EncodePasswords makes of dynamic settings what may stand in ZooKeeper. Kafka: DynamicBrokerConfig.toPersistentProps.
func (l *Loaded) EncodePasswords(settings map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(settings))
	for _, name := range sortedKeys(settings) {
		out[name] = settings[name]
		if describedKey(name).Type != Password {
			continue
		}
		if l.passwords == nil {
			return nil, refuse(name, "Password encoder secret not configured")
		}
		var err error
		if out[name], err = l.passwords.Encode(settings[name]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
