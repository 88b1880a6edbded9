package protocol

import (
	"math/rand/v2"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fill sets every field of a kmsg message to a random value: arrays of up to three elements, nulls where Go has nil.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[kmsg.Tags]() {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Version" {
				fill(r, v.Field(i))
			}
		}
	case reflect.Slice:
		if r.IntN(5) == 0 {
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(randomBytes(r))
			return
		}
		n := r.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			if def, ok := v.Index(i).Addr().Interface().(interface{ Default() }); ok {
				def.Default()
			}
			fill(r, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.String:
		v.SetString(string(randomBytes(r)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 1)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()))
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.Float64:
		v.SetFloat(r.Float64())
	default:
		panic("no random value for kind " + v.Kind().String())
	}
}

func randomBytes(r *rand.Rand) []byte {
	p := make([]byte, r.IntN(200))
	for i := range p {
		p[i] = byte(r.IntN(256))
	}
	return p
}
