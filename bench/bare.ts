// A bare Fastify route that returns a constant: the baseline of the API benchmark.
import fastify from 'fastify'

const constant = JSON.parse(process.argv[2] ?? '{}')
const http = fastify()
http.get('/constant', async () => constant)
await http.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${(http.server.address() as { port: number }).port}\n`)
