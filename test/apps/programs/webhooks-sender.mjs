// Sends bodies that are easily changed on their way, signed as each service does, and forged ones; prints the statuses.
import { randomUUID } from 'node:crypto'
import { Webhooks } from '@octokit/webhooks'
import Stripe from 'stripe'
import { Webhook } from 'svix'

const SECRET = 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0'
const [url, ...services] = process.argv.slice(2)
const stripe = new Stripe('sk_test')
const octokit = new Webhooks({ secret: SECRET })
const svix = new Webhook(SECRET)

const SIGNERS = {
  stripe: (payload) => ({
    'stripe-signature': stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET }),
  }),
  octokit: async (payload) => ({
    'x-github-event': 'push',
    'x-github-delivery': randomUUID(),
    'x-hub-signature-256': await octokit.sign(payload),
  }),
  svix: (payload) => {
    const now = new Date()
    const id = `msg_${randomUUID()}`
    return {
      'svix-id': id,
      'svix-timestamp': String(Math.floor(now / 1000)),
      'svix-signature': svix.sign(id, now, payload),
    }
  },
}

const event = {
  id: 'evt_1',
  object: 'event',
  type: 'payment_intent.succeeded',
  data: { object: { note: '☕ é' } },
}
const bodies = [
  JSON.stringify(event),
  `${JSON.stringify(event, undefined, 2)}\r\n\r\n`,
  `\t${JSON.stringify(event).replace('☕', '\\u2615')}  `,
  JSON.stringify({ ...event, padding: 'x'.repeat(1_000_000) }),
]

/** Sends the body at once, or in chunks of unknown total length. */
async function send(service, headers, body, chunked) {
  const bytes = Buffer.from(body)
  const parts = chunked ? [bytes.subarray(0, 7), bytes.subarray(7, 9), bytes.subarray(9)] : [bytes]
  const response = await fetch(`${url}/${service}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: chunked ? ReadableStream.from(parts) : bytes,
    duplex: 'half',
  })
  await response.text()
  return response.status
}

const outcomes = []
for (const service of services)
  for (const body of bodies)
    for (const chunked of [false, true]) {
      const headers = await SIGNERS[service](body)
      outcomes.push({
        service,
        genuine: await send(service, headers, body, chunked),
        forged: await send(service, headers, body.replace('succeeded', 'succeedeD'), chunked),
      })
    }
console.log(JSON.stringify(outcomes))
