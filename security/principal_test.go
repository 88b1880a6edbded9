package security

import "testing"

func TestParsePrincipal_Text_AsKafka(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Principal
		bad  bool
	}{
		{text: "User:ANONYMOUS", want: Anonymous},
		{text: "User:CN=a, O=b:c", want: User("CN=a, O=b:c")},
		{text: "Group:*", want: Principal{"Group", "*"}},
		{text: "User:", want: User("")},
		{text: ":name", want: Principal{"", "name"}},
		{text: "User", bad: true},
		{text: "", bad: true},
	} {
		got, err := ParsePrincipal(tc.text)
		if got != tc.want || (err != nil) != tc.bad {
			t.Errorf("%q: %v, %v", tc.text, got, err)
		}
		if err == nil && got.String() != tc.text {
			t.Errorf("%q became %q", tc.text, got)
		}
	}
}
