import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { Secret } from '../base/secret.ts'

const generate = promisify(generateKeyPair)

/** The key kinds of a certificate management policy. */
export type ManagedKeyType = 'rsa' | 'ecdsa'

// Not more: the edge signs once for each new visitor, and 4096 bits make that fifteen times as expensive.
const RSA_BITS = 2048

/** Makes private keys as PKCS#8 PEM. RSA keys are found one after the other, so that they never fill the thread pool. */
export class KeyMaker {
  #last: Promise<unknown> = Promise.resolve()

  async make(type: ManagedKeyType): Promise<Secret> {
    if (type === 'ecdsa') return pem(await generate('ec', { namedCurve: 'P-256' }))
    const turn = this.#last.then(() => generate('rsa', { modulusLength: RSA_BITS }))
    this.#last = turn.catch(() => {})
    return pem(await turn)
  }
}

function pem({ privateKey }: { privateKey: KeyObject }): Secret {
  return new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
}
