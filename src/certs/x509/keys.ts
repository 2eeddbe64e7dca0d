import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { Secret } from '../../base/secret.ts'

const generate = promisify(generateKeyPair)

/** The key kinds of a certificate management policy. */
export type ManagedKeyType = 'rsa' | 'ecdsa'

// Not more: the edge signs once for each new visitor, and 4096 bits make that fifteen times as expensive.
const RSA_BITS = 2048

let rsaQueue: Promise<unknown> = Promise.resolve()

/** RSA keys are found one after the other: with the whole thread pool at it, compressed answers would wait for them. */
export function generateRsaPair(
  modulusLength: number,
): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  const pair = rsaQueue.then(() => generate('rsa', { modulusLength }))
  rsaQueue = pair.catch(() => {})
  return pair
}

/** Makes private keys as PKCS#8 PEM. */
export class KeyGenerator {
  async generate(type: ManagedKeyType): Promise<Secret> {
    if (type === 'ecdsa') return toPem(await generate('ec', { namedCurve: 'P-256' }))
    return toPem(await generateRsaPair(RSA_BITS))
  }
}

function toPem({ privateKey }: { privateKey: KeyObject }): Secret {
  return new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
}
