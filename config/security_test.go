package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"jackdaw/security/sasl"
)

// securedListeners is a broker with an SSL and a SASL_SSL listener, which brokers use.
var securedListeners = []string{
	"listeners=CLIENTS://:1,BROKERS://:2", "listener.security.protocol.map=CLIENTS:SSL,BROKERS:SASL_SSL", "advertised.listeners=CLIENTS://h:1,BROKERS://h:2",
	"inter.broker.listener.name=BROKERS", "sasl.enabled.mechanisms=SCRAM-SHA-512", "sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512",
	`listener.name.brokers.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="p";`,
}

func with(more ...string) []string {
	return append(append([]string(nil), securedListeners...), more...)
}

func TestSecurity_Listeners_HaveTheirOwnSettings(t *testing.T) {
	b := mustLoad(t, with("ssl.keystore.location=/all", "listener.name.clients.ssl.keystore.location=/clients", "listener.name.clients.ssl.client.auth=required",
		"connections.max.reauth.ms=1000", "listener.name.brokers.scram-sha-512.connections.max.reauth.ms=3000", "ssl.key.password=")...).Broker()
	clients, brokers := b.Network.Security["CLIENTS"], b.Network.Security["BROKERS"]
	if !clients.TLS || clients.Authenticated || !brokers.TLS || !brokers.Authenticated {
		t.Errorf("protocols: %+v, %+v", clients, brokers)
	}
	if *clients.SSL.KeystoreLocation != "/clients" || *brokers.SSL.KeystoreLocation != "/all" {
		t.Errorf("key stores %s, %s", *clients.SSL.KeystoreLocation, *brokers.SSL.KeystoreLocation)
	}
	if clients.SSL.ClientAuth != "required" || brokers.SSL.ClientAuth != "none" {
		t.Errorf("client.auth %s, %s", clients.SSL.ClientAuth, brokers.SSL.ClientAuth)
	}
	if *brokers.SSL.KeyPassword != "" || brokers.SSL.TruststoreLocation != nil || brokers.SSL.KeystoreType != "JKS" {
		t.Errorf("empty and missing: %+v", brokers.SSL)
	}
	if got := brokers.SASL.MaxReauth[sasl.ScramSHA512]; got != 3*time.Second {
		t.Errorf("sessions of %v", got)
	}
	if brokers.Login.Mechanism != sasl.ScramSHA512 || brokers.SASL.JAAS[sasl.ScramSHA512].Options["username"] != "u" {
		t.Errorf("login: %+v", brokers.SASL)
	}
	if b.Network.FailedAuthenticationDelay != 100*time.Millisecond {
		t.Errorf("delay %v", b.Network.FailedAuthenticationDelay)
	}
}

func TestSecurity_WhatCannotBe_IsRefused(t *testing.T) {
	for _, tc := range []struct{ set, want string }{
		{"sasl.enabled.mechanisms=GSSAPI", "Invalid value GSSAPI for configuration sasl.enabled.mechanisms: supported are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"},
		{"sasl.enabled.mechanisms=", "No SASL mechanisms are enabled"},
		{"sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512", "listener.name.brokers.plain.sasl.jaas.config: it must be set"},
		{"sasl.mechanism.inter.broker.protocol=PLAIN", "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms"},
		{"listener.name.brokers.scram-sha-512.sasl.jaas.config=a.B required", "JAAS config entry not terminated by semi-colon"},
		{"listener.name.brokers.scram-sha-512.sasl.jaas.config=a.B required;", "username and password of SCRAM-SHA-512 are not in its JAAS entry"},
		{"listener.name.brokers.scram-sha-512.sasl.server.callback.handler.class=my.Handler", "Invalid value my.Handler for configuration sasl.server.callback.handler.class: not supported"},
		{"ssl.engine.factory.class=my.Factory", "ssl.engine.factory.class: not supported"},
		{"listener.name.clients.ssl.client.auth=maybe", "Invalid value maybe for configuration listener.name.clients.ssl.client.auth"},
	} {
		_, err := load(mustMap(with(tc.set)), "h")
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.set, err, tc.want)
		}
	}
}

func TestSecurity_Passwords_AreNotShown(t *testing.T) {
	l := mustLoad(t, with("ssl.keystore.password=secret")...)
	for _, e := range l.DescribeBroker(Dynamic{}, nil) {
		if strings.HasSuffix(e.Name, "jaas.config") || strings.HasSuffix(e.Name, "password") {
			if e.Value != nil || !e.Sensitive || e.Type != Password {
				t.Errorf("%s: %+v", e.Name, e)
			}
		}
	}
	if r := l.Report(); len(r) > 0 {
		t.Errorf("report: %v", r)
	}
}

func TestReport_JAASWithoutMechanism_IsNamed(t *testing.T) {
	const why = " is ignored: it needs the names of a listener and a mechanism: listener.name.<listener>.<mechanism>.sasl.jaas.config"
	got := mustLoad(t, with("sasl.jaas.config=a.B required;", "listener.name.brokers.sasl.jaas.config=a.B required;")...).Report()
	if want := []string{"listener.name.brokers.sasl.jaas.config" + why, "sasl.jaas.config" + why}; !slices.Equal(got, want) {
		t.Errorf("report: %q", got)
	}
}

// mustMap is what a file with these lines has.
func mustMap(lines []string) map[string]string {
	out := map[string]string{required: "h:1"}
	for _, l := range lines {
		k, v, _ := strings.Cut(l, "=")
		out[k] = v
	}
	return out
}
