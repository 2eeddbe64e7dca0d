import { verify } from 'node:crypto'
import { errorMessage } from '../../base/text/error-message.ts'
import { ModuleConfigError } from './context.ts'
import { findDuplicateKey } from './json-keys.ts'
import type { WebhookScheme } from './webhook-hmac.ts'

const HASHES: ReadonlyMap<string | undefined, string> = new Map([
  ['1', 'sha1'],
  ['2', 'sha256'],
])
/** The signed fields of each message type, in order; `Subject` only if present. */
const CONFIRMATION_FIELDS = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
const SIGNED_FIELDS: ReadonlyMap<string | undefined, readonly string[]> = new Map([
  ['Notification', ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']],
  ['SubscriptionConfirmation', CONFIRMATION_FIELDS],
  ['UnsubscribeConfirmation', CONFIRMATION_FIELDS],
])
/** SNS retries for an hour with the timestamp of the first attempt. */
const MAX_AGE_MS = 65 * 60_000
const MAX_CLOCK_SKEW_MS = 5 * 60_000

/** Amazon SNS signs fields inside the body with a key whose certificate it publishes. */
export const sns: WebhookScheme = (_secret, { signingKeys }) => {
  if (signingKeys === undefined)
    throw new ModuleConfigError('certificates of Amazon SNS cannot be fetched here')
  return async (message, now) => {
    const body = message.json()
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'its body is not signed'
    // Parsers differ in which duplicate they use, and only one of them was verified.
    const duplicateKey = findDuplicateKey(message.body.toString())
    if (duplicateKey !== undefined) return `it holds ${duplicateKey} twice`
    const fields = body as Record<string, unknown>
    const stringField = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined)
    const names = SIGNED_FIELDS.get(stringField('Type'))
    const hash = HASHES.get(stringField('SignatureVersion'))
    if (names === undefined || hash === undefined) return 'its type or signature version is unknown'
    const lines: string[] = []
    for (const name of names) {
      const value = stringField(name)
      if (value !== undefined) lines.push(`${name}\n${value}\n`)
      else if (name !== 'Subject' || (fields.Subject ?? null) !== null) return `it has no ${name}`
    }
    const sentAt = Date.parse(stringField('Timestamp') ?? '')
    if (!(now - sentAt <= MAX_AGE_MS && sentAt - now <= MAX_CLOCK_SKEW_MS))
      return 'it is too old, or from the future'
    try {
      const key = await signingKeys(stringField('SigningCertURL') ?? '')
      const signature = Buffer.from(stringField('Signature') ?? '', 'base64')
      return verify(hash, Buffer.from(lines.join('')), key, signature)
        ? undefined
        : 'its signature does not match'
    } catch (error) {
      return errorMessage(error)
    }
  }
}
