package config

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"jackdaw/metadata"
	"jackdaw/security/sasl"
	"jackdaw/security/ssl"
)

// Security is what protects a listener. Kafka: ChannelBuilders.
type Security struct {
	// TLS and Authenticated tell what the security protocol asks for; SSL counts with TLS, SASL when it is Authenticated.
	TLS, Authenticated bool
	SSL                ssl.Settings
	SASL               sasl.Settings
	// Login is what this broker proves itself with to others: on the listener between brokers, when it is Authenticated.
	Login sasl.Login
}

// usesTLS and usesSASL take a security protocol apart.
func usesTLS(protocol string) bool  { return strings.HasSuffix(protocol, "SSL") }
func usesSASL(protocol string) bool { return strings.HasPrefix(protocol, "SASL_") }

// securityOf reads the ssl.* and sasl.* settings of all listeners into n.
func securityOf(r *reader, n *Network) error {
	n.FailedAuthenticationDelay = r.millis("connection.failed.authentication.delay.ms")
	n.Security = map[string]Security{}
	mechanism := r.str("sasl.mechanism.inter.broker.protocol")
	for _, e := range n.Listeners {
		l := r.listener(e.Listener)
		s := Security{TLS: usesTLS(e.Protocol), Authenticated: usesSASL(e.Protocol), SSL: sslSettings(l)}
		var err error
		if s.SASL, err = saslSettings(l, s.Authenticated); err != nil {
			return err
		}
		if s.Authenticated && e.Listener == n.InterBroker {
			if s.Login, err = interBrokerLogin(l, mechanism, &s.SASL); err != nil {
				return err
			}
		}
		if s.TLS && !l.null("ssl.engine.factory.class") {
			return refuse("ssl.engine.factory.class", "Invalid value %s for configuration ssl.engine.factory.class: not supported", l.str("ssl.engine.factory.class"))
		}
		n.Security[e.Listener] = s
	}
	return nil
}

func sslSettings(r *reader) ssl.Settings {
	return ssl.Settings{
		Protocol:                 r.str("ssl.protocol"),
		EnabledProtocols:         r.list("ssl.enabled.protocols"),
		CipherSuites:             r.list("ssl.cipher.suites"),
		ClientAuth:               r.str("ssl.client.auth"),
		EndpointIdentification:   r.str("ssl.endpoint.identification.algorithm"),
		KeystoreType:             r.str("ssl.keystore.type"),
		KeystoreLocation:         r.optional("ssl.keystore.location"),
		KeystorePassword:         r.optional("ssl.keystore.password"),
		KeyPassword:              r.optional("ssl.key.password"),
		KeystoreKey:              r.optional("ssl.keystore.key"),
		KeystoreCertificateChain: r.optional("ssl.keystore.certificate.chain"),
		TruststoreType:           r.str("ssl.truststore.type"),
		TruststoreLocation:       r.optional("ssl.truststore.location"),
		TruststorePassword:       r.optional("ssl.truststore.password"),
		TruststoreCertificates:   r.optional("ssl.truststore.certificates"),
		PrincipalMappingRules:    r.str("ssl.principal.mapping.rules"),
		AllowDNChanges:           r.bool("ssl.allow.dn.changes"),
		AllowSANChanges:          r.bool("ssl.allow.san.changes"),
	}
}

// mechanisms are those that can be served.
var mechanisms = []string{sasl.Plain, sasl.ScramSHA256, sasl.ScramSHA512, sasl.OAuthBearer}

// saslSettings reads what one listener has, and checks it if it is used.
func saslSettings(r *reader, used bool) (sasl.Settings, error) {
	s := sasl.Settings{
		Mechanisms: r.list("sasl.enabled.mechanisms"), MaxReceive: r.int("sasl.server.max.receive.size"),
		JAAS: map[string]sasl.Module{}, MaxReauth: map[string]time.Duration{},
	}
	for _, m := range s.Mechanisms {
		s.MaxReauth[m] = r.mechanism(m).millis("connections.max.reauth.ms")
		if !used {
			r.mechanism(m).str(jaasKey)
			continue
		}
		if !slices.Contains(mechanisms, m) {
			return s, refuse("sasl.enabled.mechanisms", "Invalid value %s for configuration sasl.enabled.mechanisms: supported are %s", m, strings.Join(mechanisms, ", "))
		}
		err := builtIn(r.mechanism(m), m)
		if err != nil {
			return s, err
		}
		if s.JAAS[m], err = jaas(r, m); err != nil {
			return s, err
		}
	}
	var err error
	if s.Tokens, err = tokens(r, used && slices.Contains(s.Mechanisms, sasl.OAuthBearer)); err != nil {
		return s, err
	}
	if used && len(s.Mechanisms) == 0 {
		return s, refuse("sasl.enabled.mechanisms", "No SASL mechanisms are enabled")
	}
	return s, nil
}

const jaasKey = "sasl.jaas.config"

// jaas reads the entry of a mechanism, which only counts with the name of the listener and of the mechanism.
// Kafka: JaasContext.loadServerContext.
func jaas(r *reader, mechanism string) (sasl.Module, error) {
	key := r.mechanism(mechanism).prefix + jaasKey
	text, ok := r.values[key].(string)
	if !ok {
		return sasl.Module{}, refuse(key, "%s: it must be set, since sasl.enabled.mechanisms has %s. Files of java.security.auth.login.config are not read", key, mechanism)
	}
	m, err := sasl.ParseJAAS(text)
	if err != nil {
		return m, refuse(key, "%s: %v", key, err)
	}
	return m, nil
}

const handlerKey = "sasl.server.callback.handler.class"

// validators are the classes that check signed tokens; the second is their name of before Kafka 3.4.
var validators = []string{
	"org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
	"org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
}

// tokens reads which tokens are good. Without a validator those without a signature are, as in Kafka.
func tokens(r *reader, used bool) (sasl.Tokens, error) {
	const urlKey = "sasl.oauthbearer.jwks.endpoint.url"
	t := sasl.Tokens{
		Audience: r.list("sasl.oauthbearer.expected.audience"), Issuer: r.str("sasl.oauthbearer.expected.issuer"),
		Skew: r.seconds("sasl.oauthbearer.clock.skew.seconds"), SubClaim: r.str("sasl.oauthbearer.sub.claim.name"),
		URL: r.str(urlKey), Refresh: r.millis("sasl.oauthbearer.jwks.endpoint.refresh.ms"),
	}
	signed := slices.Contains(validators, r.mechanism(sasl.OAuthBearer).str(handlerKey))
	if !used || !signed {
		t.URL = ""
		return t, nil
	}
	if u, err := url.Parse(t.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return t, refuse(urlKey, "Invalid value %s for configuration %s: a URL of http or https is needed", t.URL, urlKey)
	}
	return t, nil
}

// builtIn refuses classes that would decide who gets in: to go on without them would let in others.
func builtIn(r *reader, mechanism string) error {
	for _, key := range []string{handlerKey, "sasl.login.callback.handler.class", "sasl.login.class"} {
		if mechanism == sasl.OAuthBearer && key == handlerKey && slices.Contains(validators, r.str(key)) {
			continue
		}
		if !r.null(key) {
			return refuse(key, "Invalid value %s for configuration %s: not supported", r.str(key), key)
		}
	}
	return nil
}

// interBrokerLogin reads with what this broker proves itself to others. Kafka: KafkaConfig.validateValues.
func interBrokerLogin(r *reader, mechanism string, s *sasl.Settings) (sasl.Login, error) {
	const key = "sasl.mechanism.inter.broker.protocol"
	if !slices.Contains(s.Mechanisms, mechanism) {
		return sasl.Login{}, refuse(key, "%s must be included in sasl.enabled.mechanisms when SASL is used for inter-broker communication", key)
	}
	l, err := sasl.NewLogin(mechanism, s.JAAS[mechanism])
	if err != nil {
		return l, refuse(key, "%s: %v", r.mechanism(mechanism).prefix+jaasKey, err)
	}
	return l, nil
}

// reloadableKeys are of stores, which are replaced while a listener is open. Kafka: SslConfigs.RECONFIGURABLE_CONFIGS.
var reloadableKeys = []string{
	"ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password", "ssl.key.password", "ssl.keystore.key", "ssl.keystore.certificate.chain",
	"ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.certificates",
}

func reloadable(name string) bool { return slices.Contains(reloadableKeys, name) }

// validateSecurity refuses changes of a listener that stays, other than of its stores and limits: connections that there
// are would go on as before. Kafka: DynamicListenerConfig.validateReconfiguration.
func validateSecurity(now, next *Broker) error {
	all := maps.Clone(now.settings)
	maps.Copy(all, next.settings)
	for _, name := range sortedKeys(all) {
		rest, ok := strings.CutPrefix(name, listenerPrefix)
		if !ok {
			continue
		}
		listener, base, _ := strings.Cut(rest, ".")
		if reloadable(base) || strings.HasPrefix(base, "max.connection") || reflect.DeepEqual(now.settings[name], next.settings[name]) {
			continue
		}
		stays := func(n *Network) bool {
			return slices.ContainsFunc(n.Listeners, func(e metadata.Endpoint) bool { return strings.EqualFold(e.Listener, listener) })
		}
		if stays(&now.Network) && stays(&next.Network) {
			return refuse(name, "Configs cannot be updated dynamically for existing listener ListenerName(%s), restart broker or create a new listener for update", strings.ToUpper(listener))
		}
	}
	return nil
}
