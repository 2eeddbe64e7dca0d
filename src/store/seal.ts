import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const VERSION = 'v1'

/** Where a sealed value lives. It is part of what is authenticated, so that a value moved elsewhere does not open. */
export interface SealedPlace {
  readonly account: string
  readonly kind: string
  readonly id: string
  readonly column: string
}

/** A key that wraps data keys, with the public name by which envelopes refer to it. */
export interface MasterKey {
  readonly id: string
  readonly bytes: Buffer
}

/** Gives the master key with an id; undefined when there is none. */
export type FindKey = (id: string) => MasterKey | undefined

/** A sealed value does not open: it was changed, moved, or sealed with a key that is not here. */
export class SealBroken extends Error {
  override name = 'SealBroken'
}

/** Gives key material its public name. */
export function masterKey(bytes: Buffer): MasterKey {
  if (bytes.length !== KEY_BYTES)
    throw new TypeError(`a master key has ${KEY_BYTES} bytes, not ${bytes.length}`)
  const id = createHash('sha256').update('adit master key id\0').update(bytes).digest('hex').slice(0, 16)
  return { id, bytes }
}

/** Seals text under a data key of its own, which in turn is wrapped by the master key. */
export function seal(key: MasterKey, place: SealedPlace, text: string): string {
  const dataKey = randomBytes(KEY_BYTES)
  const wrapped = encrypt(key.bytes, bind('key', place), dataKey)
  const body = encrypt(dataKey, bind('data', place), Buffer.from(text))
  return [VERSION, key.id, wrapped.toString('base64url'), body.toString('base64url')].join('.')
}

/** Opens what `seal` made for the same place; throws `SealBroken` otherwise. */
export function unseal(find: FindKey, place: SealedPlace, sealed: string): string {
  const envelope = parse(sealed, place)
  const dataKey = unwrap(find, envelope, place)
  return open(dataKey, bind('data', place), envelope.body, place).toString()
}

/** Wraps the data key anew with another master key; the value itself is neither opened nor changed. */
export function rewrap(find: FindKey, to: MasterKey, place: SealedPlace, sealed: string): string {
  const envelope = parse(sealed, place)
  const wrapped = encrypt(to.bytes, bind('key', place), unwrap(find, envelope, place))
  return [VERSION, to.id, wrapped.toString('base64url'), envelope.body.toString('base64url')].join('.')
}

/** The id of the master key that a sealed value needs. */
export function sealedWith(sealed: string): string | undefined {
  return sealed.split('.')[1]
}

interface Envelope {
  readonly keyId: string
  readonly wrapped: Buffer
  readonly body: Buffer
}

function parse(sealed: string, place: SealedPlace): Envelope {
  const [version, keyId, wrapped, body, ...rest] = sealed.split('.')
  if (version !== VERSION || !keyId || !wrapped || !body || rest.length > 0)
    throw broken(place, 'it is not an envelope')
  return { keyId, wrapped: Buffer.from(wrapped, 'base64url'), body: Buffer.from(body, 'base64url') }
}

function unwrap(find: FindKey, envelope: Envelope, place: SealedPlace): Buffer {
  const key = find(envelope.keyId)
  if (!key) throw broken(place, `the master key ${envelope.keyId} is not in the key file`)
  return open(key.bytes, bind('key', place), envelope.wrapped, place)
}

// JSON keeps the parts apart: no two places give the same text.
function bind(purpose: 'key' | 'data', { account, kind, id, column }: SealedPlace): Buffer {
  return Buffer.from(JSON.stringify([VERSION, purpose, account, kind, id, column]))
}

function encrypt(key: Buffer, additional: Buffer, plain: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(additional)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function open(key: Buffer, additional: Buffer, box: Buffer, place: SealedPlace): Buffer {
  if (box.length < NONCE_BYTES + TAG_BYTES) throw broken(place, 'it was cut short')
  const decipher = createDecipheriv(ALGORITHM, key, box.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(additional)
  decipher.setAuthTag(box.subarray(box.length - TAG_BYTES))
  try {
    const body = box.subarray(NONCE_BYTES, box.length - TAG_BYTES)
    return Buffer.concat([decipher.update(body), decipher.final()])
  } catch {
    throw broken(place, 'it was changed, or belongs to another place')
  }
}

function broken({ kind, id, column }: SealedPlace, why: string): SealBroken {
  return new SealBroken(`The sealed ${column} of ${kind} ${id} does not open: ${why}.`)
}
