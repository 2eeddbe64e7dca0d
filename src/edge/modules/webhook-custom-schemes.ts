import { isUtf8 } from 'node:buffer'
import { createHash, createHmac, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { trimOws } from '../../base/http/optional-white-space.ts'
import { ModuleConfigError } from './context.ts'
import { isChallenge } from './webhook-challenges.ts'
import { hmacScheme, type WebhookScheme } from './webhook-hmac.ts'
import { timingSafeEqualText, type WebhookMessage } from './webhook-message.ts'

/** Schemes that are more than an HMAC of a few parts, each as its provider documents it. */

const MISMATCH = 'its signature does not match'
const TOO_OLD = 'it is too old, or from the future'
const TOLERANCE_MS = 300_000

/** Twilio signs the URL, then every form parameter sorted by name; for other bodies, their digest in the query. */
export const twilio: WebhookScheme = (secret) => (message) => {
  const form = message.form().sort(([a], [b]) => compareText(a, b))
  const digest = message.query('bodySHA256')
  if (
    digest !== undefined &&
    !timingSafeEqualText(digest.toLowerCase(), createHash('sha256').update(message.body).digest('hex'))
  ) {
    return 'its body was changed'
  }
  // Without a digest the signature covers only a form.
  if (digest === undefined && form.length === 0 && message.body.length > 0) return 'its body is not signed'
  const signed = message.url + form.map(([name, value]) => name + value).join('')
  return checkSignature(
    message,
    'x-twilio-signature',
    createHmac('sha1', secret).update(signed).digest('base64'),
  )
}

/** Mailchimp Transactional signs the URL, then every form parameter sorted by name. */
export const mandrill: WebhookScheme = (secret) => (message) => {
  const form = message.form().sort(([a], [b]) => compareText(a, b))
  if (form.length === 0) return 'its body is not signed'
  const signed = message.url + form.map(([name, value]) => name + value).join('')
  return checkSignature(
    message,
    'x-mandrill-signature',
    createHmac('sha1', secret).update(signed).digest('base64'),
  )
}

/** Plivo: version 3 covers URL and form, version 2 the URL without its query; both have a nonce. */
export const plivo: WebhookScheme = (secret) => (message) => {
  const version = message.field('x-plivo-signature-v3-nonce') === undefined ? 'v2' : 'v3'
  const nonce = message.field(`x-plivo-signature-${version}-nonce`)
  if (nonce === undefined) return 'it has no x-plivo-signature-v3-nonce or -v2-nonce field'
  const bodyUnsigned = message.body.length > 0 && (message.method !== 'POST' || message.form().length === 0)
  if (version === 'v3' && bodyUnsigned) return 'its body is not signed'
  const signed =
    version === 'v3' ? `${plivoSignedUrl(message)}.${nonce}` : message.url.split('?', 1)[0]! + nonce
  const expected = createHmac('sha256', secret).update(signed).digest('base64')
  // The second one uses the token of the main account.
  const signatures = [`x-plivo-signature-${version}`, `x-plivo-signature-ma-${version}`].flatMap(
    (name) => message.field(name)?.split(',') ?? [],
  )
  if (signatures.length === 0) return `it has no x-plivo-signature-${version} field`
  return signatures.some((signature) => timingSafeEqualText(trimOws(signature), expected))
    ? undefined
    : MISMATCH
}

/** The URL with its query sorted, and the sorted form parameters after a full stop. */
function plivoSignedUrl(message: WebhookMessage): string {
  const [address = '', query = ''] = message.url.split(/\?(.*)/s)
  const joinSorted = (pairs: [string, string][], separator: string) =>
    pairs.sort(([a, x], [b, y]) => compareText(a, b) || compareText(x, y)).map((pair) => pair.join(separator))
  const sortedQuery = joinSorted([...new URLSearchParams(query)], '=').join('&')
  const form = message.method === 'POST' ? joinSorted(message.form(), '').join('') : ''
  return `${address}${sortedQuery === '' && form === '' ? '' : '?'}${sortedQuery}${sortedQuery === '' || form === '' ? '' : '.'}${form}`
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** X signs challenges that anyone may send with the webhook key, so a body that could be a challenge is rejected. */
export const twitter: WebhookScheme = (secret, context) => {
  const check = hmacScheme({
    field: 'x-twitter-webhooks-signature',
    hash: 'sha256',
    encoding: 'base64',
    prefix: 'sha256=',
    signed: '{body}',
  })(secret, context)
  return (message, now) =>
    isChallenge(message.body.toString('latin1'))
      ? 'its body could be the answer to a challenge'
      : check(message, now)
}

/** Mailgun signs a token and a timestamp inside the body. */
export const mailgun: WebhookScheme = (secret) => (message, now) => {
  const { signature } = (message.json() ?? {}) as { signature?: Record<string, unknown> }
  const signed =
    typeof signature === 'object' && signature !== null ? signature : Object.fromEntries(message.form())
  const { timestamp, token, signature: digest } = signed
  if (typeof token !== 'string' || typeof digest !== 'string') return 'its body is not signed'
  if (!(Math.abs(now - Number(timestamp) * 1000) <= TOLERANCE_MS)) return TOO_OLD
  const expected = createHmac('sha256', secret).update(`${timestamp}${token}`).digest('hex')
  return timingSafeEqualText(digest.toLowerCase(), expected) ? undefined : MISMATCH
}

/** Hygraph signs a small JSON document that contains the body as text. */
export const graphcms: WebhookScheme = (secret) => (message, now) => {
  const field = message.field('gcms-signature')
  const [, sign = '', environment = '', time = ''] =
    /^sign=([^,]+), env=([^,]+), t=(\d+)$/.exec(field ?? '') ?? []
  if (sign === '') return 'it has no readable gcms-signature field'
  // Invalid bytes would all be signed as the replacement character.
  if (!isUtf8(message.body)) return 'its body is not UTF-8'
  if (!(Math.abs(now - Number(time)) <= TOLERANCE_MS)) return TOO_OLD
  const signed = JSON.stringify({
    Body: message.body.toString(),
    EnvironmentName: environment,
    TimeStamp: Number(time),
  })
  return timingSafeEqualText(sign, createHmac('sha256', secret).update(signed).digest('base64'))
    ? undefined
    : MISMATCH
}

/** Contentful signs method, path, a list of fields and the body. */
export const contentful: WebhookScheme = (secret) => (message, now) => {
  const names = (message.field('x-contentful-signed-headers') ?? '').toLowerCase().split(',').map(trimOws)
  // An unsigned timestamp proves nothing.
  if (!names.includes('x-contentful-timestamp')) return 'its time is not signed'
  const time = Number(message.field('x-contentful-timestamp'))
  if (!(Math.abs(now - time) <= TOLERANCE_MS)) return TOO_OLD
  const fields = names.map((name) => `${name}:${message.field(name) ?? ''}`).join(';')
  const signed = Buffer.concat([
    Buffer.from(`${message.method}\n${message.target}\n${fields}\n`),
    message.body,
  ])
  return checkSignature(
    message,
    'x-contentful-signature',
    createHmac('sha256', secret).update(signed).digest('hex'),
  )
}

/** HubSpot, version 3. A few characters of the URL are decoded before it is signed. */
export const hubspot: WebhookScheme = (secret) => (message, now) => {
  const time = message.field('x-hubspot-request-timestamp')
  if (!(Math.abs(now - Number(time)) <= TOLERANCE_MS)) return TOO_OLD
  const [address = '', ...query] = message.url.split('?')
  const decoded = address.replace(/%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, (code) =>
    decodeURIComponent(code),
  )
  const url = [decoded, ...query].join('?')
  const expected = createHmac('sha256', secret)
    .update(`${message.method}${url}`)
    .update(message.body)
    .update(time ?? '')
    .digest('base64')
  return checkSignature(message, 'x-hubspot-signature-v3', expected)
}

/** SendGrid signs timestamp and body with ECDSA; the secret is the public key it displays. */
export const sendgrid: WebhookScheme = (secret) => {
  const key = readPublicKey(secret)
  return (message, now) => {
    const time = message.field('x-twilio-email-event-webhook-timestamp')
    const signature = message.field('x-twilio-email-event-webhook-signature')
    if (time === undefined || signature === undefined) return 'it is not signed'
    if (!(Math.abs(now - Number(time) * 1000) <= TOLERANCE_MS)) return TOO_OLD
    const signed = Buffer.concat([Buffer.from(time), message.body])
    const bytes = Buffer.from(signature, 'base64')
    // Node ignores characters that are not base64, so the spelling is compared too.
    if (bytes.toString('base64') !== signature) return MISMATCH
    return verify('sha256', signed, key, bytes) ? undefined : MISMATCH
  }
}

function readPublicKey(secret: string): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' })
  } catch {
    throw new ModuleConfigError('the secret is not a public key as SendGrid shows it')
  }
}

function checkSignature(message: WebhookMessage, field: string, expected: string): string | undefined {
  const signature = message.field(field)
  if (signature === undefined) return `it has no ${field} field`
  return timingSafeEqualText(signature, expected) ? undefined : MISMATCH
}
