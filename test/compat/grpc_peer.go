// A gRPC service (`serve`), or a client of it that prints what it saw (`call TARGET AUTHORITY CA`).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const text = "not there: 100 % ü"

// raw passes messages as bytes.
type raw struct{}

func (raw) Name() string                          { return "raw" }
func (raw) Marshal(value any) ([]byte, error)     { return *value.(*[]byte), nil }
func (raw) Unmarshal(data []byte, value any) error { *value.(*[]byte) = append([]byte{}, data...); return nil }

type facts struct {
	Code codes.Code `json:"code"`
	Head bool       `json:"head"`
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func serve() {
	cancelled := make(chan struct{}, 1000)
	handle := func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		var request, answer []byte
		read := func() error { return stream.RecvMsg(&request) }
		switch method {
		case "/adit.Peer/Status":
			check(read())
			var wanted facts
			check(json.Unmarshal(request, &wanted))
			if wanted.Head {
				check(stream.SendHeader(metadata.Pairs("x-initial", "first")))
			}
			stream.SetTrailer(metadata.Pairs("x-trailing", "last"))
			if wanted.Code != codes.OK {
				return status.Error(wanted.Code, text)
			}
			answer = []byte("ok")
		case "/adit.Peer/Wait":
			check(read())
			check(stream.SendHeader(nil))
			<-stream.Context().Done()
			cancelled <- struct{}{}
			// The deadline may pass here first.
			return status.FromContextError(stream.Context().Err()).Err()
		case "/adit.Peer/Cancelled":
			check(read())
			<-cancelled
		case "/adit.Peer/Collect":
			size := 0
			for read() == nil {
				size += len(request)
			}
			answer = []byte(strconv.Itoa(size))
		case "/adit.Peer/Repeat":
			check(read())
			for count := 0; count < 1000; count++ {
				check(stream.SendMsg(&request))
			}
			return nil
		case "/adit.Peer/Chat":
			for read() == nil {
				check(stream.SendMsg(&request))
			}
			return nil
		}
		return stream.SendMsg(&answer)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := grpc.NewServer(grpc.UnknownServiceHandler(handle), grpc.ForceServerCodec(raw{}))
	go server.Serve(listener)
	io.Copy(io.Discard, os.Stdin)
}

func call(target, authority, ca string) {
	security := insecure.NewCredentials()
	if ca != "" {
		var err error
		security, err = credentials.NewClientTLSFromFile(ca, authority)
		check(err)
	}
	connection, err := grpc.NewClient("passthrough:///"+target,
		grpc.WithTransportCredentials(security),
		grpc.WithAuthority(authority),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	check(err)
	background := context.Background()
	nothing := []byte{}
	unary := func(ctx context.Context, name string, request []byte, options ...grpc.CallOption) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		var answer []byte
		err := connection.Invoke(ctx, "/adit.Peer/"+name, &request, &answer, options...)
		return answer, err
	}
	first := func(fields metadata.MD, name string) string {
		for _, value := range fields[name] {
			return value
		}
		return ""
	}
	outcomes := func(head bool) (all [][]any) {
		for code := codes.OK; code <= codes.Unauthenticated; code++ {
			request, _ := json.Marshal(facts{code, head})
			var header, trailer metadata.MD
			_, err := unary(background, "Status", request, grpc.Header(&header), grpc.Trailer(&trailer))
			result := status.Convert(err)
			all = append(all, []any{result.Code(), result.Message(), first(header, "x-initial"), first(trailer, "x-trailing")})
		}
		return all
	}
	open := func(ctx context.Context, name string) grpc.ClientStream {
		stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/adit.Peer/"+name)
		check(err)
		return stream
	}

	ctx, cancel := context.WithCancel(background)
	waiting := open(ctx, "Wait")
	check(waiting.SendMsg(&nothing))
	_, err = waiting.Header()
	check(err)
	cancel()
	_, err = unary(background, "Cancelled", nothing)
	check(err)
	ctx, cancel = context.WithTimeout(background, 500*time.Millisecond)
	_, err = unary(ctx, "Wait", nothing)
	deadline := status.Code(err)
	cancel()
	_, err = unary(background, "Cancelled", nothing)
	check(err)

	var parallel sync.WaitGroup
	for count := 0; count < 500; count++ {
		parallel.Go(func() {
			_, err := unary(background, "Status", []byte(`{"code":0,"head":false}`))
			check(err)
		})
	}
	parallel.Wait()

	block := make([]byte, 10_000)
	var answer []byte
	collect := open(background, "Collect")
	for count := 0; count < 1000; count++ {
		check(collect.SendMsg(&block))
	}
	check(collect.CloseSend())
	check(collect.RecvMsg(&answer))
	collected, _ := strconv.Atoi(string(answer))

	repeat := open(background, "Repeat")
	check(repeat.SendMsg(&block))
	check(repeat.CloseSend())
	repeated := 0
	for repeat.RecvMsg(&answer) == nil {
		repeated += len(answer)
	}

	chat := open(background, "Chat")
	heard := []string{}
	for _, word := range []string{"one", "two", "three"} {
		said := []byte(word)
		check(chat.SendMsg(&said))
		check(chat.RecvMsg(&answer))
		heard = append(heard, string(answer))
	}
	check(chat.CloseSend())

	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"statuses": outcomes(false), "statusesAfterHead": outcomes(true), "deadline": deadline,
		"parallel": 500, "collected": collected, "repeated": repeated, "chat": heard,
	}))
}

func main() {
	encoding.RegisterCodec(raw{})
	if os.Args[1] == "serve" {
		serve()
	} else {
		call(os.Args[2], os.Args[3], os.Args[4])
	}
}
