// A gRPC service (`serve`), or a client of it that prints what it saw (`call TARGET AUTHORITY CA`).
const { readFileSync } = require('node:fs')
const grpc = require('@grpc/grpc-js')

const TEXT = 'not there: 100 % ü'
const bytes = (value) => value
const method = (name, requestStream, responseStream) => ({
  path: `/adit.Peer/${name}`,
  requestStream,
  responseStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
})
const service = {
  Status: method('Status', false, false),
  Wait: method('Wait', false, false),
  Cancelled: method('Cancelled', false, false),
  Collect: method('Collect', true, false),
  Repeat: method('Repeat', false, true),
  Chat: method('Chat', true, true),
}

function serve() {
  const waiting = []
  let cancellations = 0
  const settle = () => {
    while (cancellations > 0 && waiting.length > 0) {
      cancellations--
      waiting.shift()(null, Buffer.alloc(0))
    }
  }
  const server = new grpc.Server()
  server.addService(service, {
    Status(call, done) {
      const { code, head } = JSON.parse(call.request)
      if (head) call.sendMetadata(metadata({ 'x-initial': 'first' }))
      const trailers = metadata({ 'x-trailing': 'last' })
      if (code === 0) done(null, Buffer.from('ok'), trailers)
      else done({ code, details: TEXT, metadata: trailers })
    },
    Wait(call) {
      call.sendMetadata(new grpc.Metadata())
      call.on('cancelled', () => {
        cancellations++
        settle()
      })
    },
    Cancelled(_call, done) {
      waiting.push(done)
      settle()
    },
    Collect(call, done) {
      let size = 0
      call.on('data', (chunk) => {
        size += chunk.length
      })
      call.on('end', () => done(null, Buffer.from(String(size))))
    },
    Repeat(call) {
      for (let count = 0; count < 1000; count++) call.write(call.request)
      call.end()
    },
    Chat(call) {
      call.pipe(call)
    },
  })
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (_error, port) =>
    console.log(port),
  )
  process.stdin.on('end', () => process.exit()).resume()
}

function metadata(fields) {
  const all = new grpc.Metadata()
  for (const [name, value] of Object.entries(fields)) all.set(name, value)
  return all
}

async function call(target, authority, ca) {
  const credentials = ca ? grpc.credentials.createSsl(readFileSync(ca)) : grpc.credentials.createInsecure()
  const Client = grpc.makeGenericClientConstructor(service, 'Peer')
  const client = new Client(target, credentials, {
    'grpc.default_authority': authority,
    ...(ca && { 'grpc.ssl_target_name_override': authority }),
  })
  const in20s = () => ({ deadline: Date.now() + 20_000 })
  const outcome = (code, head) =>
    new Promise((resolve) => {
      let initial = ''
      let error = null
      const request = Buffer.from(JSON.stringify({ code, head }))
      const sent = client.Status(request, in20s(), (failure) => {
        error = failure
      })
      sent.on('metadata', (all) => {
        initial = String(all.get('x-initial')[0] ?? '')
      })
      sent.on('status', (status) => {
        const trailing = String(status.metadata.get('x-trailing')[0] ?? '')
        resolve([status.code, error ? status.details : '', initial, trailing])
      })
    })
  const unary = (name, request, options = in20s()) =>
    new Promise((resolve, reject) =>
      client[name](request, options, (error, response) => (error ? reject(error) : resolve(response))),
    )
  const outcomes = async (head) => {
    const all = []
    for (let code = 0; code <= 16; code++) all.push(await outcome(code, head))
    return all
  }
  const nothing = Buffer.alloc(0)
  const block = Buffer.alloc(10_000, 'x')

  const cancelled = client.Wait(nothing, () => {})
  await new Promise((resolve) => cancelled.on('metadata', resolve))
  cancelled.cancel()
  await unary('Cancelled', nothing)
  const deadline = await unary('Wait', nothing, { deadline: Date.now() + 500 }).catch(({ code }) => code)
  await unary('Cancelled', nothing)
  const request = Buffer.from('{"code":0,"head":false}')
  const parallel = await Promise.all(Array.from({ length: 500 }, () => unary('Status', request)))
  const collected = await new Promise((resolve, reject) => {
    const stream = client.Collect(in20s(), (error, size) => (error ? reject(error) : resolve(Number(size))))
    for (let count = 0; count < 1000; count++) stream.write(block)
    stream.end()
  })
  let repeated = 0
  for await (const chunk of client.Repeat(block)) repeated += chunk.length
  const chat = client.Chat()
  const heard = []
  const words = ['one', 'two', 'three']
  chat.write(Buffer.from(words[0]))
  for await (const chunk of chat) {
    heard.push(String(chunk))
    const next = words[heard.length]
    if (next === undefined) chat.end()
    else chat.write(Buffer.from(next))
  }
  const [statuses, statusesAfterHead] = [await outcomes(false), await outcomes(true)]
  client.close()
  const facts = { statuses, statusesAfterHead, deadline, parallel: parallel.length, collected, repeated }
  console.log(JSON.stringify({ ...facts, chat: heard }))
}

const [, , command, ...args] = process.argv
if (command === 'serve') serve()
else void call(...args)
