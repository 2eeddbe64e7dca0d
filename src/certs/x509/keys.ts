import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { Secret } from '../../base/secret.ts'

const generate = promisify(generateKeyPair)

/** The key kinds of a certificate management policy. */
export type ManagedKeyType = 'rsa' | 'ecdsa'

// Not more: the edge signs once for each new visitor, and 4096 bits make that fifteen times as expensive.
const RSA_BITS = 2048

let last: Promise<unknown> = Promise.resolve()

/** RSA keys are found one after the other: with the whole thread pool at it, compressed answers would wait for them. */
export function makeRsaPair(modulusLength: number): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  const turn = last.then(() => generate('rsa', { modulusLength }))
  last = turn.catch(() => {})
  return turn
}

/** Makes private keys as PKCS#8 PEM. */
export class KeyMaker {
  async make(type: ManagedKeyType): Promise<Secret> {
    if (type === 'ecdsa') return pem(await generate('ec', { namedCurve: 'P-256' }))
    return pem(await makeRsaPair(RSA_BITS))
  }
}

function pem({ privateKey }: { privateKey: KeyObject }): Secret {
  return new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
}
