import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const VERSION = 'v1'

/** The column a sealed value belongs to. It is authenticated as additional data, so that a value moved elsewhere does not unseal. */
export interface SealContext {
  readonly account: string
  readonly kind: string
  readonly id: string
  readonly column: string
}

/** A key that wraps data keys, with the public id that envelopes refer to. */
export interface MasterKey {
  readonly id: string
  readonly bytes: Buffer
}

/** Looks up a master key by id. */
export type FindKey = (id: string) => MasterKey | undefined

/** A sealed value cannot be unsealed: it was changed, moved, or sealed with a key that is not in the keyring. */
export class UnsealError extends Error {
  override name = 'UnsealError'
}

/** Derives the public id of key material. */
export function toMasterKey(bytes: Buffer): MasterKey {
  if (bytes.length !== KEY_BYTES)
    throw new TypeError(`a master key has ${KEY_BYTES} bytes, not ${bytes.length}`)
  const id = createHash('sha256').update('adit master key id\0').update(bytes).digest('hex').slice(0, 16)
  return { id, bytes }
}

/** Encrypts text with a new data key, which is wrapped by the master key (envelope encryption). */
export function seal(key: MasterKey, context: SealContext, text: string): string {
  const dataKey = randomBytes(KEY_BYTES)
  const wrapped = encrypt(key.bytes, additionalData('key', context), dataKey)
  const body = encrypt(dataKey, additionalData('data', context), Buffer.from(text))
  return [VERSION, key.id, wrapped.toString('base64url'), body.toString('base64url')].join('.')
}

/** Decrypts a value sealed with the same context; throws `UnsealError` otherwise. */
export function unseal(find: FindKey, context: SealContext, sealed: string): string {
  const envelope = parseEnvelope(sealed, context)
  const dataKey = unwrapDataKey(find, envelope, context)
  return decrypt(dataKey, additionalData('data', context), envelope.body, context).toString()
}

/** Rewraps the data key with another master key; the value itself is neither decrypted nor changed. */
export function rewrap(find: FindKey, newKey: MasterKey, context: SealContext, sealed: string): string {
  const envelope = parseEnvelope(sealed, context)
  const wrapped = encrypt(
    newKey.bytes,
    additionalData('key', context),
    unwrapDataKey(find, envelope, context),
  )
  return [VERSION, newKey.id, wrapped.toString('base64url'), envelope.body.toString('base64url')].join('.')
}

/** The id of the master key that a sealed value needs. */
export function sealedKeyId(sealed: string): string | undefined {
  return sealed.split('.')[1]
}

interface Envelope {
  readonly keyId: string
  readonly wrapped: Buffer
  readonly body: Buffer
}

function parseEnvelope(sealed: string, context: SealContext): Envelope {
  const [version, keyId, wrapped, body, ...rest] = sealed.split('.')
  if (version !== VERSION || !keyId || !wrapped || !body || rest.length > 0)
    throw unsealError(context, 'it is not an envelope')
  return { keyId, wrapped: Buffer.from(wrapped, 'base64url'), body: Buffer.from(body, 'base64url') }
}

function unwrapDataKey(find: FindKey, envelope: Envelope, context: SealContext): Buffer {
  const key = find(envelope.keyId)
  if (!key) throw unsealError(context, `the master key ${envelope.keyId} is not in the key file`)
  return decrypt(key.bytes, additionalData('key', context), envelope.wrapped, context)
}

// JSON separates the parts unambiguously: no two contexts give the same text.
function additionalData(purpose: 'key' | 'data', { account, kind, id, column }: SealContext): Buffer {
  return Buffer.from(JSON.stringify([VERSION, purpose, account, kind, id, column]))
}

function encrypt(key: Buffer, aad: Buffer, plain: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(aad)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function decrypt(key: Buffer, aad: Buffer, box: Buffer, context: SealContext): Buffer {
  if (box.length < NONCE_BYTES + TAG_BYTES) throw unsealError(context, 'it was cut short')
  const decipher = createDecipheriv(ALGORITHM, key, box.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(aad)
  decipher.setAuthTag(box.subarray(box.length - TAG_BYTES))
  try {
    const body = box.subarray(NONCE_BYTES, box.length - TAG_BYTES)
    return Buffer.concat([decipher.update(body), decipher.final()])
  } catch {
    throw unsealError(context, 'it was changed, or belongs to another row')
  }
}

function unsealError({ kind, id, column }: SealContext, reason: string): UnsealError {
  return new UnsealError(`The sealed ${column} of ${kind} ${id} does not open: ${reason}.`)
}
