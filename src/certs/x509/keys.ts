import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { Secret } from '../../base/values/secret.ts'

const generate = promisify(generateKeyPair)

/** The key types of a certificate management policy. */
export type ManagedKeyType = 'rsa' | 'ecdsa'

// Decision 56: the edge signs in every full handshake, and 4096 bits cost fifteen times as much.
const RSA_BITS = 2048

let rsaQueue: Promise<unknown> = Promise.resolve()

/** Generates RSA keys one after the other: several at once would fill the thread pool and delay response compression. */
export function generateRsaPair(
  modulusLength: number,
): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  const pair = rsaQueue.then(() => generate('rsa', { modulusLength }))
  rsaQueue = pair.catch(() => {})
  return pair
}

/** Generates private keys as PKCS#8 PEM. */
export class KeyGenerator {
  async generate(type: ManagedKeyType): Promise<Secret> {
    if (type === 'ecdsa') return toPem(await generate('ec', { namedCurve: 'P-256' }))
    return toPem(await generateRsaPair(RSA_BITS))
  }
}

function toPem({ privateKey }: { privateKey: KeyObject }): Secret {
  return new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
}
