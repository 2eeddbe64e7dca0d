// Verifies the webhooks of three services, as their documents show it for Express.
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks'
import express from 'express'
import Stripe from 'stripe'
import { Webhook } from 'svix'

const SECRET = 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0'
const stripe = new Stripe('sk_test')
const octokit = new Webhooks({ secret: SECRET })
const svix = new Webhook(SECRET)
const raw = express.raw({ type: 'application/json', limit: '5mb' })

const verified = (verify) => (request, response) => {
  try {
    verify(request)
    response.sendStatus(200)
  } catch {
    response.sendStatus(400)
  }
}

const app = express()
app.use(createNodeMiddleware(octokit, { path: '/octokit' }))
app.post(
  '/stripe',
  raw,
  verified(({ body, headers }) => stripe.webhooks.constructEvent(body, headers['stripe-signature'], SECRET)),
)
app.post(
  '/svix',
  raw,
  verified(({ body, headers }) => svix.verify(body, headers)),
)
app.listen(Number(process.argv[2]), '127.0.0.1')
