// Calls every method of the services of the official Go client by the plan on standard input, and prints what failed, as
// JSON. The generated file services.go holds the services by their package.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"
)

type service struct {
	Service string         `json:"service"`
	Create  map[string]any `json:"create"`
	Update  map[string]any `json:"update"`
	// The ids in the path of an object; a service that creates one adds its id.
	Item map[string]any `json:"item"`
	// The settings of a module.
	Module map[string]any `json:"module"`
}

type plan struct {
	BaseURL  string    `json:"base_url"`
	APIKey   string    `json:"api_key"`
	Services []service `json:"services"`
}

type report struct {
	Calls    int      `json:"calls"`
	Failures []string `json:"failures"`
}

var result = report{Failures: []string{}}

func main() {
	var input plan
	must(json.NewDecoder(os.Stdin).Decode(&input))
	clients := newServices(input.APIKey, input.BaseURL)
	for _, each := range input.Services {
		walk(each, reflect.ValueOf(clients[each.Service]))
	}
	must(json.NewEncoder(os.Stdout).Encode(result))
}

// walk creates an object, calls the other methods, and deletes it. In reverse order, the management of a certificate ends
// before the certificate is detached.
func walk(each service, client reflect.Value) {
	if created, done := attempt(each, client, "Create", each.Create); done {
		if !created.IsValid() {
			return
		}
		if id := created.Elem().FieldByName("ID"); id.IsValid() {
			each.Item["id"] = id.String()
		}
	}
	attempt(each, client, "Replace", merge(each.Item, map[string]any{"module": each.Module}))
	var names []string
	for index := range client.NumMethod() {
		names = append(names, client.Type().Method(index).Name)
	}
	sort.Sort(sort.Reverse(sort.StringSlice(names)))
	for _, name := range names {
		if name == "Update" {
			attempt(each, client, name, merge(each.Item, each.Update))
		} else if name != "Create" && name != "Replace" && name != "Delete" {
			attempt(each, client, name, each.Item)
		}
	}
	attempt(each, client, "Delete", each.Item)
}

// attempt calls a method, if the service has it, with the client's own types; the answer is invalid if the call failed.
func attempt(each service, client reflect.Value, name string, body map[string]any) (reflect.Value, bool) {
	method := client.MethodByName(name)
	if !method.IsValid() {
		return reflect.Value{}, false
	}
	result.Calls++
	var arguments []reflect.Value
	for index := range method.Type().NumIn() {
		kind := method.Type().In(index)
		switch {
		case kind.Kind() == reflect.Interface:
			arguments = append(arguments, reflect.ValueOf(context.Background()))
		case kind.Kind() == reflect.String:
			arguments = append(arguments, reflect.ValueOf(idOf(body)))
		case strings.HasSuffix(kind.Elem().Name(), "Paging"):
			arguments = append(arguments, reflect.Zero(kind))
		default:
			argument := reflect.New(kind.Elem())
			text, err := json.Marshal(body)
			must(err)
			if err := json.Unmarshal(text, argument.Interface()); err != nil {
				return fail(each, name, err), true
			}
			arguments = append(arguments, argument)
		}
	}
	answers := method.Call(arguments)
	last := answers[len(answers)-1]
	if err, isError := last.Interface().(error); isError {
		return fail(each, name, err), true
	}
	if next := last.MethodByName("Next"); next.IsValid() {
		return list(each, name, last), true
	}
	return answers[0], true
}

// list reads all pages.
func list(each service, name string, items reflect.Value) reflect.Value {
	count := 0
	for items.MethodByName("Next").Call([]reflect.Value{reflect.ValueOf(context.Background())})[0].Bool() {
		count++
	}
	if err, isError := items.MethodByName("Err").Call(nil)[0].Interface().(error); isError {
		return fail(each, name, err)
	}
	if count == 0 && name == "List" {
		return fail(each, name, fmt.Errorf("the list is empty"))
	}
	return reflect.Value{}
}

// idOf is the id of a call that has only one: that of the object, or of its parent.
func idOf(body map[string]any) string {
	for _, name := range []string{"id", "subscription_id"} {
		if id, found := body[name]; found {
			return id.(string)
		}
	}
	return ""
}

func merge(first, second map[string]any) map[string]any {
	merged := map[string]any{}
	for _, each := range []map[string]any{first, second} {
		for name, value := range each {
			merged[name] = value
		}
	}
	return merged
}

func fail(each service, name string, cause error) reflect.Value {
	result.Failures = append(result.Failures, fmt.Sprintf("%s.%s: %s", each.Service, name, cause))
	return reflect.Value{}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
