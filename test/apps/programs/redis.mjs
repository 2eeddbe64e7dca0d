// Uses a Redis server as services do; prints what it has seen.
import { Redis } from 'ioredis'

const [host, port] = process.argv.slice(2)
const connect = () => new Redis({ host, port: Number(port) })
const [client, subscriber, worker] = [connect(), connect(), connect()]

await subscriber.subscribe('news')
const messages = []
const received = new Promise((resolve) => {
  subscriber.on('message', (_channel, message) => {
    messages.push(message)
    if (messages.length === 1000) resolve()
  })
})
const popped = worker.blpop('jobs', 0)
for (let index = 0; index < 1000; index++) await client.publish('news', `message ${index}`)
await received
await client.rpush('jobs', 'job')
const transaction = await client.multi().set('counter', 41).incr('counter').get('counter').exec()
const pipelined = await Promise.all(Array.from({ length: 2000 }, () => client.incr('total')))
console.log(JSON.stringify({ messages, popped: await popped, transaction, last: pipelined.at(-1) }))
for (const each of [client, subscriber, worker]) each.disconnect()
