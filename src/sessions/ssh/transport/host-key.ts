import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { pemBlocks } from '../../../base/text/pem-blocks.ts'
import type { Secret } from '../../../base/values/secret.ts'
import { type HostKey, type IncomingClient, setSignatureAlgorithm } from './ssh2.ts'
import { encodeStrings } from './wire.ts'

/** The gateway's host keys: the same on every node and after every start. */
export interface HostIdentity {
  /** Negotiated names in order of preference. */
  readonly algorithms: readonly string[]
  keysFor(client: () => IncomingClient): Readonly<Record<string, HostKey>>
}

/** PEM text of new host keys, to be stored sealed: Ed25519, and ECDSA for older clients. */
export function generateHostKeys(): string {
  const ed25519 = generateKeyPairSync('ed25519').privateKey
  const ecdsa = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  return [ed25519, ecdsa].map((key) => key.export({ type: 'pkcs8', format: 'pem' })).join('')
}

/** The public keys as `algorithm base64`, in stored order. */
export function publicHostKeys(pem: Secret): string[] {
  return parseKeys(pem).map(({ type, getPublicSSH }) => `${type} ${getPublicSSH().toString('base64')}`)
}

/**
 * Loads stored keys. The certificate of the Ed25519 key, if any, is read at each key exchange, so it can be renewed while
 * clients are connected.
 */
export function createHostIdentity(pem: Secret, certificate?: () => Buffer): HostIdentity {
  const keys = parseKeys(pem)
  const plainKeys = keys.map((key): [string, HostKey] => [key.type, key])
  const ed25519 = keys.find(({ type }) => type === 'ssh-ed25519')
  if (certificate === undefined || ed25519 === undefined) {
    const fixed = Object.fromEntries(plainKeys)
    return { algorithms: Object.keys(fixed), keysFor: () => fixed }
  }
  return {
    algorithms: [CERTIFICATE_ALGORITHM, ...plainKeys.map(([name]) => name)],
    keysFor: (client) => ({
      ...Object.fromEntries(plainKeys),
      [CERTIFICATE_ALGORITHM]: withCertificate(ed25519, certificate, client),
    }),
  }
}

const CERTIFICATE_ALGORITHM = 'ssh-ed25519-cert-v01@openssh.com'

function withCertificate(key: HostKey, certificate: () => Buffer, client: () => IncomingClient): HostKey {
  return {
    type: key.type,
    getPublicSSH: certificate,
    sign(data) {
      // PROTOCOL.certkeys: a signature carries the plain key's name.
      setSignatureAlgorithm(client(), key.type)
      return key.sign(data)
    },
  }
}

function parseKeys(pem: Secret): HostKey[] {
  const texts = pemBlocks(pem.reveal())
  return texts.map((text) => toHostKey(createPrivateKey(text)))
}

function toHostKey(key: KeyObject): HostKey {
  const jwk = createPublicKey(key).export({ format: 'jwk' })
  const bytes = (value: string | undefined) => Buffer.from(value ?? '', 'base64url')
  if (jwk.kty === 'OKP') {
    const blob = encodeStrings('ssh-ed25519', bytes(jwk.x))
    return { type: 'ssh-ed25519', getPublicSSH: () => blob, sign: (data) => sign(null, data, key) }
  }
  const point = Buffer.concat([Buffer.of(4), bytes(jwk.x), bytes(jwk.y)])
  const blob = encodeStrings('ecdsa-sha2-nistp256', 'nistp256', point)
  return {
    type: 'ecdsa-sha2-nistp256',
    getPublicSSH: () => blob,
    sign: (data) => sign('sha256', data, key),
  }
}
