package ssl

import "testing"

// The cases of Kafka's SslPrincipalMapperTest.
func TestParseMapper_Rules_SplitAsKafka(t *testing.T) {
	for rules, want := range map[string]string{
		"":                               "[]",
		"DEFAULT":                        "[DEFAULT]",
		"RULE://":                        "[RULE:/]",
		"RULE:/.*/":                      "[RULE:/.*]",
		"RULE:/.*/L":                     "[RULE:/.*/L]",
		"RULE://,DEFAULT":                "[RULE:/, DEFAULT]",
		"  RULE:// ,  DEFAULT":           "[RULE:/, DEFAULT]",
		"  RULE:   /     / ,  DEFAULT  ": "[RULE:   /     , DEFAULT]",
		"  RULE:  /     /U   ,DEFAULT  ": "[RULE:  /     /U, DEFAULT]",
		",   , , ,      , , ,   ":        "[]",
		",,RULE://,,,DEFAULT,,":          "[RULE:/, DEFAULT]",
		",  , RULE: /   /    ,,,   DEFAULT, ,   ":                "[RULE: /   , DEFAULT]",
		"  RULE:([A-Z]*)/$1/U   ,RULE:([a-z]+)/$1/,   DEFAULT  ": "[RULE:([A-Z]*)/$1/U, RULE:([a-z]+)/$1, DEFAULT]",
		`RULE:\/\\\(\)\n\t/\/\//`:                                `[RULE:\/\\\(\)\n\t/\/\/]`,
		`RULE:\**\/+/*/L,RULE:\/*\**/**/`:                        `[RULE:\**\/+/*/L, RULE:\/*\**/**]`,
		`RULE:,RULE:,/,RULE:,\//U,RULE:,/RULE:,/,RULE:,RULE:,/L,RULE:,/L,RULE:, DEFAULT, /DEFAULT/,DEFAULT`: `[RULE:,RULE:,/,RULE:,\//U, RULE:,/RULE:,, RULE:,RULE:,/L,RULE:,/L, RULE:, DEFAULT, /DEFAULT, DEFAULT]`,
	} {
		m, err := ParseMapper(rules)
		if err != nil {
			t.Errorf("%q: %v", rules, err)
		} else if got := m.String(); got != want {
			t.Errorf("%q: %s, want %s", rules, got, want)
		}
	}
}

func TestParseMapper_BadRules_Refused(t *testing.T) {
	for _, rules := range []string{
		"default", "DEFAUL", "DEFAULT/L", "DEFAULT/U", "RULE:CN=(.*?),OU=ServiceUsers.*/$1", "rule:^CN=(.*?),OU=ServiceUsers.*$/$1/",
		"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L/U", "RULE:^CN=(.*?),OU=ServiceUsers.*$/L", "RULE:^CN=(.*?),OU=ServiceUsers.*$/U",
		"RULE:^CN=(.*?),OU=ServiceUsers.*$/LU", "RULE:(/x/", "RULE:(?=a)/x/",
	} {
		if m, err := ParseMapper(rules); err == nil {
			t.Errorf("%q: %s", rules, m)
		}
	}
}

func TestMapper_Name_FirstRuleThatMatches(t *testing.T) {
	const many = "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L, " +
		"RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U, RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U, DEFAULT"
	for _, tc := range []struct{ rules, dn, want string }{
		{many, "CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"},
		{many, "CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"},
		{many, "cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"},
		{many, "cN=duke,OU=JavaSoft,O=Sun Microsystems", "DUKE"},
		{many, "OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US"},
		{`RULE:^CN=((\\, *|\w)+)(,.*|$)/$1/,DEFAULT`, `CN=Tkac\, Adam,OU=ITZ,DC=geodis,DC=cz`, `Tkac\, Adam`},
		{"RULE:^CN=(.*)$/$1-$2-$12-$0/", "CN=a", "a-$2-a2-CN=a"},
		{`RULE:^CN=(.*)$/\$1\\$1/`, "CN=a", `$1\a`},
		{"RULE:.*/x/", "CN=a", "xx"}, // Java replaces the empty rest, too
		{"RULE:CN=a/x/", "CN=ab", ""},
		{"RULE:CN=b/x/", "CN=a", ""},
		{"", "CN=a", ""},
	} {
		m, err := ParseMapper(tc.rules)
		if err != nil {
			t.Fatalf("%q: %v", tc.rules, err)
		}
		got, err := m.Name(tc.dn)
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%q of %s: %q, %v, want %q", tc.rules, tc.dn, got, err, tc.want)
		}
	}
}

func FuzzMapper(f *testing.F) {
	f.Add("RULE:^CN=(.*?),.*$/$1@$2/L,DEFAULT", "CN=a,O=b")
	f.Fuzz(func(_ *testing.T, rules, dn string) {
		if m, err := ParseMapper(rules); err == nil {
			_, _ = m.Name(dn)
		}
	})
}
