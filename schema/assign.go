package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// MaxInteger is the largest integer, either way, that a Matrix event and a JavaScript number carry exactly.
const MaxInteger = 1<<53 - 1

// treeAssigner is a type that reads itself from a validated tree.
type treeAssigner interface{ assignTree(tree any) }

// treeKeeper is a document that keeps the whole tree it was read from, for the properties it does not name.
type treeKeeper interface{ keepTree(tree map[string]any) }

// assignTree fills a struct from a tree that its schema has accepted. Unlike encoding/json it matches property names
// exactly, and it reads 1.0 and 1e0 as the integer that they are.
func assignTree(dst any, tree any) []Fault {
	a := assigner{}
	a.assign(reflect.ValueOf(dst).Elem(), tree, nil)
	return a.faults
}

type assigner struct{ faults []Fault }

func (a *assigner) assign(dst reflect.Value, v any, at []string) {
	if v == nil {
		return
	}
	if self, ok := dst.Addr().Interface().(treeAssigner); ok {
		self.assignTree(v)
		return
	}
	switch dst.Kind() {
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		a.assign(dst.Elem(), v, at)
	case reflect.Struct:
		obj, ok := v.(map[string]any)
		if !ok {
			return
		}
		if keeper, ok := dst.Addr().Interface().(treeKeeper); ok {
			keeper.keepTree(obj)
		}
		for _, f := range fieldsOf(dst.Type()) {
			if value, ok := obj[f.name]; ok {
				a.assign(dst.FieldByIndex(f.index), value, append(slices.Clip(at), f.name))
			}
		}
	case reflect.Slice:
		items, ok := v.([]any)
		if !ok {
			return
		}
		dst.Set(reflect.MakeSlice(dst.Type(), len(items), len(items)))
		for i, item := range items {
			a.assign(dst.Index(i), item, append(slices.Clip(at), strconv.Itoa(i)))
		}
	case reflect.String:
		if s, ok := v.(string); ok {
			dst.SetString(s)
		}
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			dst.SetBool(b)
		}
	case reflect.Int:
		if num, ok := v.(json.Number); ok {
			n, ok := integer(num)
			if !ok {
				a.faults = append(a.faults, integerFault(pointer(at...)))
			}
			dst.SetInt(n)
		}
	case reflect.Float64:
		if num, ok := v.(json.Number); ok {
			f, _ := num.Float64() // the nearest there is
			dst.SetFloat(f)
		}
	case reflect.Map:
		if obj, ok := v.(map[string]any); ok {
			dst.Set(reflect.ValueOf(obj))
		}
	default:
		panic(fmt.Sprintf("schema: no way to fill a %s", dst.Type()))
	}
}

// integer reads a number whose value is an integer within ±MaxInteger, however it is written.
func integer(num json.Number) (int64, bool) {
	n, err := strconv.ParseInt(string(num), 10, 64)
	if err != nil {
		r, ok := new(big.Rat).SetString(string(num))
		if !ok || !r.IsInt() || !r.Num().IsInt64() {
			return 0, false
		}
		n = r.Num().Int64()
	}
	return n, n <= MaxInteger && n >= -MaxInteger
}

func integerFault(location string) Fault {
	f := ruleFault(RuleInteger, location, fmt.Sprintf("must be an integer within ±%d, or a Matrix event cannot carry it", MaxInteger))
	f.Limit = int64(MaxInteger)
	return f
}

type fieldPlan struct {
	name  string
	index []int
}

var fieldPlans sync.Map // reflect.Type → []fieldPlan

// fieldsOf lists the fields of a struct, embedded ones included, that have a json name.
func fieldsOf(t reflect.Type) []fieldPlan {
	if plan, ok := fieldPlans.Load(t); ok {
		return plan.([]fieldPlan)
	}
	var plan []fieldPlan
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			plan = append(plan, fieldPlan{name, f.Index})
		}
	}
	fieldPlans.Store(t, plan)
	return plan
}
