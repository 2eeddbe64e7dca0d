// Creates, reads, changes, lists and deletes each resource of the plan on standard input with the client that was
// generated as the package account/api, and prints what failed, as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"

	"account/api"
)

type service struct {
	Tag     string            `json:"tag"`
	Parents map[string]string `json:"parents"`
	Create  json.RawMessage   `json:"create"`
	Update  json.RawMessage   `json:"update"`
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

var (
	client reflect.Value
	result = report{Failures: []string{}}
)

func main() {
	var input plan
	must(json.NewDecoder(os.Stdin).Decode(&input))
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+input.APIKey)
		return nil
	}
	created, err := api.NewClientWithResponses(input.BaseURL, api.WithRequestEditorFn(authorize))
	must(err)
	client = reflect.ValueOf(created)
	for _, each := range input.Services {
		walk(each)
	}
	must(json.NewEncoder(os.Stdout).Encode(result))
}

func walk(each service) {
	parents := []string{}
	for _, id := range each.Parents {
		parents = append(parents, id)
	}
	created := attempt(each.Tag, "Create", parents, each.Create)
	if !created.IsValid() {
		return
	}
	ids := append(parents, created.Elem().FieldByName("Id").String())
	attempt(each.Tag, "Get", ids, nil)
	attempt(each.Tag, "Update", ids, each.Update)
	attempt(each.Tag, "List", nil, nil)
	attempt(each.Tag, "Delete", ids, nil)
}

// attempt calls an operation, if the client has it, with a body of the client's own type, and returns the typed answer.
func attempt(tag, action string, ids []string, body json.RawMessage) reflect.Value {
	name := exported(tag) + action
	method := client.MethodByName(name + "WithResponse")
	if !method.IsValid() {
		return reflect.Value{}
	}
	result.Calls++
	arguments := []reflect.Value{reflect.ValueOf(context.Background())}
	for _, id := range ids {
		arguments = append(arguments, reflect.ValueOf(id))
	}
	// What is left before the editors is the body, or the parameters of a list.
	for index := len(arguments); index < method.Type().NumIn()-1; index++ {
		argument := reflect.New(method.Type().In(index))
		if body != nil {
			if err := json.Unmarshal(body, argument.Interface()); err != nil {
				return fail(name, err.Error())
			}
		}
		arguments = append(arguments, argument.Elem())
	}
	answers := method.Call(arguments)
	if err, isError := answers[1].Interface().(error); isError {
		return fail(name, err.Error())
	}
	answer := answers[0].Elem()
	for _, field := range []string{"JSON200", "JSON201"} {
		if value := answer.FieldByName(field); value.IsValid() && !value.IsNil() {
			return value
		}
	}
	if response := answer.FieldByName("HTTPResponse").Interface().(*http.Response); response.StatusCode != 204 {
		return fail(name, string(answer.FieldByName("Body").Bytes()))
	}
	return reflect.Value{}
}

func fail(name, cause string) reflect.Value {
	result.Failures = append(result.Failures, fmt.Sprintf("%s: %s", name, cause))
	return reflect.Value{}
}

// exported converts ip_policies to IpPolicies, as the generator names operations.
func exported(tag string) string {
	words := strings.Split(tag, "_")
	for index, word := range words {
		words[index] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
